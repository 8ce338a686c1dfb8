import { expect, test } from 'vitest';
import { answersOf } from '../../../src/setup/init/asker.ts';

test('a file of answers that is no YAML is refused', () => {
  expect(() => answersOf('a: [', {}, () => {})).toThrow(expect.objectContaining({ code: 'answers-unusable' }));
});

test.each([
  ['nothing', 'calendars: [{}]', 'answer-missing'],
  ['one word', 'calendars: [{ agendas: dr-1 }]', 'answer-refused'],
  ['an empty list', 'calendars: [{ agendas: [] }]', 'answer-refused'],
  ['objects', 'calendars: [{ agendas: { dr-1: true } }]', 'answer-refused'],
])('%s for a list of choices is refused with the form and the choices', async (_, text, code) => {
  const choices = ['dr-1', 'room-2'].map((value) => ({ value, label: value }));
  const question = { id: 'calendars.0.agendas', ask: 'Which agendas?', why: 'The agendas of the calendar.', choices };
  const error = await answersOf(text, {}, () => {})
    .choices(question)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code,
    remedy: 'write agendas: [dr-1], or all; choose from: dr-1, room-2',
  });
});
