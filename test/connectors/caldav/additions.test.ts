import { expect, test } from 'vitest';
import { additionsTextOf, withAdditionsOf } from '../../../src/connectors/caldav/additions.ts';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';

const ALARM = 'BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT25M\r\nEND:VALARM';
const GUEST =
  'ATTENDEE;CN=A guest with a long name that a server folds over two lines of its:mail\r\n to:guest@example.org';
const object = (userText: string, theirs = '') => ({
  ...{ sequence: 1, userText, descriptionParts: { ...NO_DESCRIPTION, theirs }, presets: NO_PRESETS },
});
const lines = (...each: string[]) => each.join('\r\n');

test('an object without additions leaves nothing', () => {
  expect(additionsTextOf(object(''))).toBeUndefined();
  expect(withAdditionsOf(object('COLOR:red'), undefined)).toEqual(object('COLOR:red'));
});

test.each<[string, string, string, string]>([
  ['everything to an object without', '', lines('COLOR:red', GUEST, ALARM), lines('COLOR:red', GUEST, ALARM)],
  [
    'nothing that is there',
    lines('COLOR:red', GUEST, ALARM),
    lines(GUEST, 'COLOR:red', ALARM),
    lines('COLOR:red', GUEST, ALARM),
  ],
  ['no second colour', 'COLOR:blue', lines('COLOR:red', GUEST), lines('COLOR:blue', GUEST)],
  [
    'a second guest and alarm',
    lines(GUEST, ALARM),
    lines('ATTENDEE:mailto:b@c', ALARM.replace('25', '10')),
    lines(GUEST, ALARM, 'ATTENDEE:mailto:b@c', ALARM.replace('25', '10')),
  ],
])('adds %s', (_, own, added, expected) => {
  const text = additionsTextOf(object(added));
  const once = withAdditionsOf(object(own), text);
  expect(once.userText).toBe(expected);
  expect(withAdditionsOf(once, text)).toEqual(once);
});

test('adds a note once, and takes presets over that users changed', () => {
  const presets = { last: {}, theirs: new Set(['reminderMinutes'] as const) };
  const text = additionsTextOf({ ...object(ALARM, 'Ring twice'), presets });
  const once = withAdditionsOf(object('', 'Side door'), text);
  expect(once.descriptionParts.theirs).toBe('Side door\nRing twice');
  expect([...once.presets.theirs]).toEqual(['reminderMinutes']);
  expect(withAdditionsOf(once, text).descriptionParts.theirs).toBe('Side door\nRing twice');
});
