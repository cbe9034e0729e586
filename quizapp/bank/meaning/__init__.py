"""Marks a typed answer by meaning: which key points it shows and which misconceptions it states.

`quizapp.bank.meaning.text_marking.mark_text` is what the program calls. On the way, `sentences` drops what is
not the learner's own, `concepts` turns words, symbols and numbers into signed concepts by the `lexicon`,
`space` says how near two concepts are, `measures` compares each sentence with each statement of the card,
`consistency` compares what both claim, and `model` turns `features` into probabilities. `second_voice` asks
the user's own language model where they are unsure.
"""
