import { describe, expect, test } from 'vitest';
import { load, loadError, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

const REMINDERS = `
reminders:
  channels:
    post: { kind: post, consent: privacy, settings: { stamp: B } }
  rules:
    day-before: { before: P1D, channels: [post] }
    evening: { at: { daysBefore: 1, time: "18:00" }, channels: [post], texts: { it: { text: "Ciao {firstName}, alle {time}" } } }
`;
const written = (reminders: string) => writeConfiguration({ 'tenants/uno.yaml': TENANT + reminders });
const read = (reminders: string) => load(written(reminders)).tenants.get('uno')?.reminders;

describe('reminders of a tenant', () => {
  test('are off unless the file contains them', () => {
    expect(read('')).toBeUndefined();
  });

  test('have defaults that never wake a patient', () => {
    const reminders = read(REMINDERS);
    expect(reminders?.quietHours).toEqual({ from: '21:00', to: '08:00' });
    expect(reminders?.channels.get('post')).toMatchObject({
      kind: 'post',
      consent: 'privacy',
      settings: { stamp: 'B' },
    });
    expect(reminders?.rules.get('day-before')).toMatchObject({ before: { days: 1, minutes: 0 }, agendas: 'all' });
    expect(reminders?.rules.get('day-before')?.statuses).toEqual(['booked', 'confirmed']);
  });

  test("a channel's part is checked by its kind, also when the file leaves it out", () => {
    const bare = REMINDERS.replace(', settings: { stamp: B }', '');
    expect(read(bare)?.channels.get('post')?.settings).toEqual({ stamp: 'A' });
  });

  test.each([
    ['PT2H30M', { days: 0, minutes: 150 }],
    ['P2DT1H', { days: 2, minutes: 60 }],
    ['PT90M', { days: 0, minutes: 90 }],
  ])('%s before', (offset, expected) => {
    expect(read(REMINDERS.replace('P1D', offset))?.rules.get('day-before')?.before).toEqual(expected);
  });

  test.each([
    ['an unknown field in a text', '{firstName}', '{surname}', 'use only these fields in braces'],
    ['a brace alone', '{firstName}', '{', 'use only these fields in braces'],
    [
      'a rule for a channel that is not there',
      'before: P1D, channels: [post]',
      'before: P1D, channels: [sms]',
      'available: post',
    ],
    ['a kind that is not there', 'kind: post', 'kind: pots', 'did you mean post?'],
    ['a consent that is not read', 'consent: privacy', 'consent: letters', 'marketing'],
    ["a key that the channel doesn't know", 'stamp: B', 'stmap: B', 'stamp'],
    [
      'a rule with two times',
      'before: P1D',
      'before: P1D, at: { daysBefore: 1, time: "10:00" }',
      'set either before or at',
    ],
    ['a rule without a time', 'before: P1D, ', '', 'set either before or at'],
    ['a month', 'P1D', 'P1M', 'such as P1D or PT2H'],
    ['nothing', 'P1D', 'PT0H', 'duration above zero'],
    ['an hour that no clock shows', '"18:00"', '"24:00"', 'enter a local time'],
    [
      'a channel named twice',
      'before: P1D, channels: [post]',
      'before: P1D, channels: [post, post]',
      'list each element only once',
    ],
    [
      'a day that is all night',
      'reminders:',
      'reminders:\n  quietHours: { from: "09:00", to: "08:00" }',
      'at least four hours',
    ],
  ])('%s is a fault', (_, sound, broken, remedy) => {
    expect(REMINDERS).toContain(sound);
    expect(loadError(written(REMINDERS.replace(sound, broken))).message).toContain(remedy);
  });
});

describe('links in reminders', () => {
  const withLinks = (publicUrl: string | null) =>
    writeConfiguration({
      'clinic-mirror.yaml':
        publicUrl === null ? SETTINGS : `${SETTINGS}\nhttp: { port: 8080, publicUrl: "${publicUrl}" }\n`,
      'tenants/uno.yaml': TENANT + REMINDERS.replace('reminders:', 'reminders:\n  links: {}'),
    });

  test.each(['https://mirror.example.org', 'http://127.0.0.1:8080'])('accept the public URL %s', (publicUrl) => {
    const { links } = load(withLinks(publicUrl)).tenants.get('uno')?.reminders ?? {};
    expect(links).toEqual({ cancel: false, cancelUntilHours: 24 });
  });

  test.each([null, 'http://localhost:8080', 'http://mirror'])(
    'are refused with %s, which no patient can open',
    (url) => {
      const faults = loadError(withLinks(url)).faults.map((fault) => JSON.stringify(fault));
      expect(faults).toHaveLength(1);
      expect(faults[0]).toContain('links in reminders require a public URL');
      expect(faults[0]).toContain('reminders.links');
    },
  );
});
