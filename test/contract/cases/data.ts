import { expect } from 'vitest';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { type CalendarKit, createOperation, describeOutcome, itemWith, sealedRecordIdOf } from '../contract-kit.ts';

const TEXTS: Readonly<Record<string, string>> = {
  'emoji and joined emoji': 'Check-up 🦷 👩🏽‍⚕️ 👨‍👩‍👧',
  'text from right to left': 'موعد عند الطبيب / פגישה אצל הרופא',
  'characters of four bytes': '𝒜𝓅𝓅𝑜𝒾𝓃𝓉𝓂𝑒𝓃𝓉 𠜎𠜱𡿺',
  'accents, composed and decomposed': 'Müller / Mu\u0308ller à è ì ò ù',
  'HTML and script': '<script>alert(1)</script> <b>bold</b> & &amp; &lt;i&gt; "quoted" \'single\'',
  'commas, semicolons, backslashes and colons': 'a,b;c\\d:e\\,f\\n"g"^h%20',
  'line breaks and text that resembles lines of a calendar file':
    'one\ntwo\n\nATTENDEE:mailto:x@example.org\nEND:VEVENT\nBEGIN:VALARM',
  'ten thousand characters': first('ä🙂 word '.repeat(1_200), 10_000).trim(),
  'a line of 300 characters without a space': 'é'.repeat(300),
};

/** Texts arrive unchanged: shown and read back as sent, and not written a second time. */
export const data = group<CalendarKit>('texts', {
  ...Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [`${name} arrive unchanged`, arrives(text)])),
  'an empty description and an absent one are the same': async (kit) => {
    await kit.attempt([createOperation('a', itemWith({ description: '', location: '' }))]);
    const [item] = await kit.readAll();
    expect(item?.item).toMatchObject({ description: null, location: null });
    expect(await kit.object('a')).toMatchObject({ description: '', location: '' });
  },
  'a description and a location that went away are cleared': async (kit) => {
    await kit.attempt([createOperation('a', itemWith({ description: 'Bring the card', location: 'Room 2' }))]);
    await kit.attempt([{ ...createOperation('a'), kind: 'update', versionTag: null, remoteId: null }]);
    expect(await kit.object('a')).toMatchObject({ description: '', location: '' });
  },
  'texts of any length are shown, shortened to the vendor’s limit, and do not block other operations': async (kit) => {
    const long = {
      title: 'Ä🙂 '.repeat(1_000).trim(),
      description: 'a&b<c '.repeat(10_000).trim(),
      location: 'é'.repeat(2_000),
    };
    const operations = [
      createOperation('a', itemWith(long)),
      createOperation('b'),
      createOperation('c', itemWith(long)),
    ];
    expect((await kit.attempt(operations)).map(describeOutcome)).toEqual(Array(3).fill('written created'));
    const object = await kit.object('a');
    for (const [field, text] of Object.entries(long)) {
      const shown = object[field as keyof typeof long];
      expect(shown === text || (shown.endsWith('…') && text.startsWith(shown.slice(0, -1))), field).toBe(true);
    }
    expect(describeOutcome((await kit.attempt([createOperation('a', itemWith(long))]))[0])).toBe('written adopted');
    expect((await kit.object('a')).version, 'written once').toBe(object.version);
  },
  'free time is shown as free': async (kit) => {
    await kit.attempt([createOperation('a', itemWith({ busy: false }))]);
    expect((await kit.object('a')).busy).toBe(false);
    expect((await kit.readAll())[0]?.item?.busy).toBe(false);
  },
});

function arrives(text: string): ContractCase<CalendarKit>['run'] {
  const oneLine = text.replaceAll('\n', ' ');
  return (kit) =>
    expectArrival(kit, itemWith({ title: first(oneLine, 300), description: text, location: first(oneLine, 200) }));
}

/** The first characters of a text; none is cut in two. */
function first(text: string, length: number): string {
  return Array.from(text).slice(0, length).join('');
}

async function expectArrival(kit: CalendarKit, item: CalendarItem): Promise<void> {
  expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written created');
  const object = await kit.object('a');
  const { longest = {} } = kit.target.supports;
  for (const field of ['title', 'description', 'location'] as const) {
    expectWhole(object[field], item[field] ?? '', longest[field]);
  }
  expect(object).toMatchObject({ attendees: 0, alarms: 0, sealedRecordId: sealedRecordIdOf('a') });
  const { title, description, location } = object;
  expect((await kit.readAll())[0]?.item).toEqual({ ...item, title, description, location });
  expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written adopted');
  expect((await kit.object('a')).version, 'written once').toBe(object.version);
}

/** Expects the text as sent; a text longer than the vendor's limit is cut and ends with an ellipsis. */
function expectWhole(shown: string, sent: string, longest = Number.POSITIVE_INFINITY): void {
  if (sent.length <= longest) {
    expect(shown).toBe(sent);
    return;
  }
  expect(shown).toMatch(/…$/);
  expect(sent.startsWith(shown.slice(0, -1))).toBe(true);
  expect(shown.length).toBeLessThanOrEqual(longest);
  expect(shown.length).toBeGreaterThan(longest * 0.9);
}
