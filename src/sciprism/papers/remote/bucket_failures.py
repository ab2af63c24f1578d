"""What an error of S3 or Google Cloud Storage means, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.errors import InputError
from sciprism.papers.remote.address import scheme_of, show_address, split_path
from sciprism.papers.remote.failures import (
    CONTINUES,
    MissingObjectError,
    NoPermissionError,
    TransientError,
    changed,
)

RENEW = {
    "s3": "renew them (aws sso login, or a new AWS_SESSION_TOKEN)",
    "gs": "renew them (gcloud auth application-default login)",
}
CHOOSE = {
    "s3": "choose others with AWS_PROFILE, or with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "choose others with GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
}
GRANT = {
    "s3": "ask for s3:GetObject and s3:ListBucket",
    "gs": "ask for storage.objects.get and storage.objects.list",
}

_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"}
_WRONG = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthFailure", "InvalidClientTokenId"}
_REFUSED = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidObjectState", "Forbidden", "401", "403"}
_CHANGED = {"PreconditionFailed", "412", "InvalidRange", "416"}
_THROTTLED = {"SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded", "408", "429"}
_CREDENTIAL_ERRORS = re.compile(r"Credential|Token|Profile|SSO|GoogleAuthError|RefreshError")
_CONNECTION_ERRORS = re.compile(
    r"Timeout|Connect|Connection|HTTPClientError|Payload|IncompleteRead|ResponseStreaming|ServerDisconnected|Proxy|"
    r"ResponseParserError|ChunkedEncoding|TransportError|ChecksumError"
)
_FORBIDDEN = "Forbidden"
"""The word of an OSError with which gcsfs reports status 403."""


def explain_failure(error: BaseException, address: str, *, anonymous: bool) -> Exception | None:
    """Return what to raise for an error of fsspec and the libraries below it, None where it is no known one."""
    shown, scheme = show_address(address), scheme_of(address)
    code, text = _find_code(error)
    status = int(code) if code.isdecimal() else 0
    if code in _THROTTLED or status >= 500 or _has_server_status(error):
        return TransientError(f"the store answers {code or 'an error'}" + (f" ({text})" if text else ""))
    if code in _CHANGED:
        return changed(shown)
    if code in _EXPIRED or "has expired" in text:
        return InputError(f"{shown}: the credentials have expired; {RENEW[scheme]}: {CONTINUES}")
    if code in _WRONG:
        return InputError(f"{shown}: the store does not know the credentials ({code}); {CHOOSE[scheme]}: {CONTINUES}")
    if code in _REFUSED or isinstance(error, PermissionError) or _FORBIDDEN in text:
        return _refuse(shown, scheme, anonymous)
    if code == "NoSuchBucket" or isinstance(error, FileNotFoundError) or code in ("NoSuchKey", "404"):
        bucket, *key = split_path(address)
        if code == "NoSuchBucket" or not key:
            return MissingObjectError(f"{shown}: no bucket {bucket!r}; check its name")
        return MissingObjectError(f"{shown}: no such object or folder; check the name, or list the bucket {bucket!r}")
    names = [kind.__name__ for each in _chain(error) for kind in type(each).__mro__]
    if any(map(_CREDENTIAL_ERRORS.search, names)):
        reason = " ".join(str(error).split())
        return InputError(f"{shown}: the credentials cannot be used ({reason}); {CHOOSE[scheme]}: {CONTINUES}")
    if any(map(_CONNECTION_ERRORS.search, names)):
        return TransientError(f"the store cannot be reached ({' '.join(str(error).split()) or type(error).__name__})")
    if code or isinstance(error, OSError):
        return InputError(f"{shown}: the store refuses the request ({' '.join(f'{code} {text or error}'.split())})")
    return None


def _refuse(shown: str, scheme: str, anonymous: bool) -> NoPermissionError:
    if anonymous:
        advice = CHOOSE[scheme].replace("choose others", "name them")
        return NoPermissionError(f"{shown}: not public, and no credentials were found; {advice}: {CONTINUES}")
    return NoPermissionError(f"{shown}: no permission; {GRANT[scheme]}, or {CHOOSE[scheme]}: {CONTINUES}")


def _find_code(error: BaseException) -> tuple[str, str]:
    """Return the code and the words of the store's answer, empty where the error is of another kind."""
    for each in _chain(error):
        answer = getattr(each, "response", None)
        if isinstance(answer, dict) and isinstance(answer.get("Error"), dict):
            return str(answer["Error"].get("Code", "")), str(answer["Error"].get("Message", ""))
        code = getattr(each, "code", None)
        if isinstance(code, int | str) and hasattr(each, "message"):  # gcsfs
            return str(code), " ".join(str(each.message).split())
    return "", " ".join(str(error).split()) if isinstance(error, OSError) else ""


def _has_server_status(error: BaseException) -> bool:
    """Say whether the status of an answer is 429 or above 499, whatever its code."""
    for each in _chain(error):
        answer = getattr(each, "response", None)
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if isinstance(answer, dict) else 0
        if status == 429 or status >= 500:
            return True
    return False


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
