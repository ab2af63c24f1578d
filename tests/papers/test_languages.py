import pytest

from sciprism.papers.languages import guess_language

SENTENCES = {
    "English": "We measure the speed of light in moving water and show that it is changed by the motion.",
    "German": "Wir messen die Geschwindigkeit des Lichts in bewegtem Wasser und sehen, dass sie sich ändert.",
    "French": "Nous mesurons la vitesse de la lumière dans une eau en mouvement et ses variations.",
    "Spanish": "Se mide la velocidad de la luz en el agua en movimiento y se muestra que no es constante.",
    "Portuguese": "Medimos a velocidade da luz em água em movimento e mostramos que não é constante.",
    "Italian": "Misuriamo la velocità della luce nel mezzo in moto e si mostra che non è costante.",
    "Polish": "Prędkość światła w wodzie nie jest stała, a wyniki są zgodne z tym, że prąd na nią wpływa.",
    "Chinese": "本文测量了光在流动水中的速度，并与 Fizeau 的结果进行了比较。",
    "Japanese": "流れる水の中での光の速さを測定し、Fizeau の結果と比較した。",
    "Korean": "흐르는 물에서 빛의 속도를 측정하고 결과를 비교하였다.",
    "Cyrillic script": "Измерена скорость света в движущейся воде.",
    "Arabic script": "قمنا بقياس سرعة الضوء في الماء المتحرك.",
    "Greek": "Μετράμε την ταχύτητα του φωτός σε κινούμενο νερό.",
    "Latin script": "Pulsar timing arrays",
    "none": "12 + 30 = 42",
}
TITLES = {
    "Zur Geschichte der Glasmalerei": "German",
    "Écologie des prairies humides": "French",
    "Evaluación de suelos salinos": "Spanish",
    "土壤盐渍化评价": "Chinese",
    "De novo assembly": "Latin script",
    "Van der Waals heterostructures": "Latin script",
    "In vivo Schrödinger cat states": "Latin script",
    "Coup d'état of les gens de Los Angeles": "Latin script",
    "No regrets: do humans die alone?": "Latin script",
    "The measure of Müller and Łukasiewicz for α-decay in the 北京 group": "English",
}


@pytest.mark.parametrize(("text", "language"), [*((text, name) for name, text in SENTENCES.items()), *TITLES.items()])
def test_the_language_of_a_sentence_or_a_title(text: str, language: str):
    assert guess_language(text) == language
