import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fromPresetsText,
  joinDescription,
  mayHoldTheirs,
  NO_PRESETS,
  type PresetName,
  presetChanges,
  presetsThere,
  readDescription,
  recoveredParts,
  toDescriptionStamp,
  toPresetsText,
} from '../../src/connectors/event-content.ts';
import { COLOURS, type Presets } from '../../src/core/model/items.ts';
import { itemWith, updateOperation } from '../contract/contract-kit.ts';

const OURS = 'Dr. Verdi\nStatus: booked';
const STAMP = toDescriptionStamp(OURS);
/** An update of an event with this description. */
function updateWith(description: string | null, hadDescription?: (text: string) => boolean) {
  const update = updateOperation('a', itemWith({ description }), null);
  return hadDescription === undefined ? update : { ...update, hadDescription };
}
const read = (text: string, stamp: string | null = STAMP) => readDescription(text, stamp, 'plain');

describe('the description of an event', () => {
  test('belongs to clinic-mirror if no user wrote in it, whatever a server changed in spaces, line ends and escapes', () => {
    for (const text of [OURS, `${OURS}\n`, 'Dr. Verdi Status:  booked', '\\Dr. Verdi\r\nStatus: booked ']) {
      expect(read(text).theirs).toBe('');
    }
    expect(read(OURS)).toEqual({ ours: OURS, theirs: '' });
  });

  test.each([
    ['below', `${OURS}\nRing twice`, 'Ring twice'],
    ['below the line', `${OURS}\n--------\nRing twice`, 'Ring twice'],
    ['above', `Ring twice\n\n${OURS}`, 'Ring twice'],
    ['on both sides', `Ring\n${OURS}\n--------\ntwice`, 'Ring\ntwice'],
    ['in the same line', `${OURS}, by the side door`, ', by the side door'],
    ['as a picture', `${OURS} 🙂`, '🙂'],
  ])('keeps the text of a user %s', (_, text, theirs) => {
    expect(read(text)).toEqual({ ours: OURS, theirs });
  });

  test('keeps a space at the end of the text of clinic-mirror, by the separator line', () => {
    expect(read(`${OURS}  \n--------\nRing`)).toEqual({ ours: `${OURS}  `, theirs: 'Ring' });
  });

  test('belongs to the user if the text of clinic-mirror was changed, deleted or never written', () => {
    expect(read('Dr. Verdi\nStatus: late')).toEqual({
      ours: 'Dr. Verdi\nStatus: late',
      theirs: 'Dr. Verdi\nStatus: late',
    });
    expect(read('Ring twice\n--------')).toMatchObject({ theirs: 'Ring twice' });
    expect(read('')).toEqual({ ours: '', theirs: '' });
    expect(read('Ring', toDescriptionStamp(null))).toEqual({ ours: null, theirs: 'Ring' });
    expect(read(' \n', toDescriptionStamp(null))).toEqual({ ours: null, theirs: '' });
  });

  test('without a stamp belongs to users below the separator; the rest is undecided before a write', () => {
    for (const stamp of [null, 'ours', '', 'ours.x.y']) {
      const whole = read('Anything', stamp);
      expect(whole).toEqual({ ours: 'Anything', theirs: '', unstamped: 'Anything' });
      expect(mayHoldTheirs(whole)).toBe(true);
      const text = `${OURS}\n--------\nRing`;
      expect(read(text, stamp)).toEqual({ ours: OURS, theirs: 'Ring', unstamped: text });
    }
    expect(mayHoldTheirs(read('', null))).toBe(false);
    expect(readDescription('A &amp; B<br>--------<br><b>Ring</b>', null, 'html')).toMatchObject({
      ours: 'A & B',
      theirs: '<b>Ring</b>',
    });
  });

  test.each([
    ['below', `${OURS}\n\nRing twice`, 'Ring twice'],
    ['below the separator', `${OURS}\n--------\nRing\n\ntwice`, 'Ring\n\ntwice'],
    ['above', `Ring twice\n${OURS}`, 'Ring twice'],
    ['on both sides of the separator', `Ring\n${OURS}\n--------\ntwice`, 'Ring\ntwice'],
    ['around spaces that a server added', `  Dr. Verdi \n\n Status: booked\nRing`, 'Ring'],
    ['alone', 'Ring', 'Ring'],
    ['in the text of clinic-mirror', 'Dr. Verdi, Ring\nStatus: booked', 'Dr. Verdi, Ring\nStatus: booked'],
    ['not at all', OURS, ''],
  ])('without a stamp is separated by the text of the last write: text of a user %s', (_, text, theirs) => {
    const parts = recoveredParts(
      read(text, null),
      'plain',
      updateWith('New', (last) => last === OURS),
    );
    expect(parts).toMatchObject({ theirs });
    expect(parts).not.toHaveProperty('unstamped');
  });

  test('without a stamp is separated by the text to write if the last write is unknown, and stays if nothing fits', () => {
    const parts = read(`${OURS}\nRing`, null);
    expect(recoveredParts(parts, 'plain', updateWith(OURS)).theirs).toBe('Ring');
    expect(recoveredParts(parts, 'plain', { ...updateWith(OURS), kind: 'create' }).theirs).toBe('Ring');
    expect(recoveredParts(parts, 'plain', updateWith('New')).theirs).toBe(`${OURS}\nRing`);
    expect(recoveredParts(parts, 'plain', updateWith(null))).toEqual({ ours: null, theirs: `${OURS}\nRing` });
    expect(recoveredParts(read(OURS), 'plain', updateWith('New'))).toEqual({ ours: OURS, theirs: '' });
  });

  test('without a stamp is compared only up to a limit', () => {
    let compared = 0;
    const counting = updateWith('New', () => {
      compared += 1;
      return false;
    });
    recoveredParts(read('a\n'.repeat(9_000), null), 'plain', counting);
    expect(compared).toBe(200);
    const long = 'a'.repeat(30_000);
    expect(recoveredParts(read(long, null), 'plain', counting).theirs).toBe(long);
    expect(compared).toBe(200);
  });

  test('without a stamp is compared only up to a number of characters, the shortest texts first', () => {
    const compared: string[] = [];
    const counting = (text: string) =>
      updateWith('New', (description) => {
        compared.push(description);
        return description === text;
      });
    const notes = `${'long note '.repeat(19)}\n`.repeat(97);
    recoveredParts(read(notes, null), 'plain', counting('none'));
    expect(compared.join('').length).toBeLessThan(100_000);
    const parts = recoveredParts(read(`Dr. Verdi\nRoom 2\n${notes}`, null), 'plain', counting('Dr. Verdi\nRoom 2'));
    expect(parts).toEqual({ ours: 'Dr. Verdi\nRoom 2', theirs: notes.trim() });
  });

  test('is split correctly in HTML that a web page made of both texts', () => {
    const text = 'Bring <b>keys</b><br>Dr. Verdi<br>Status: A &amp; B<br>--------<br><ul><li>Ring</li></ul>';
    expect(readDescription(text, toDescriptionStamp('Dr. Verdi\nStatus: A & B'), 'html')).toEqual({
      ours: 'Dr. Verdi\nStatus: A & B',
      theirs: 'Bring <b>keys</b>\n<ul><li>Ring</li></ul>',
    });
  });

  test('keeps the complete text of a user through any number of writes', () => {
    const words = fc.stringMatching(/^[a-z ]{1,20}[a-z]$/);
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 6 }), words, fc.boolean(), (ours, theirs, isAbove) => {
        let notes = readDescription(theirs, toDescriptionStamp(null), 'plain');
        let text = theirs;
        for (const mine of ours.map((one) => `Status: ${one}`)) {
          text = joinDescription(mine, notes);
          notes = readDescription(text, toDescriptionStamp(mine), 'plain');
          expect(notes).toEqual({ ours: mine, theirs: theirs.trim() });
          if (isAbove) notes = readDescription(`${notes.theirs}\n${mine}`, toDescriptionStamp(mine), 'plain');
          expect(notes.theirs).toBe(theirs.trim());
        }
        expect(joinDescription(null, notes)).toBe(theirs.trim());
      }),
    );
  });

  test('is found inside a word, and after hundreds of words of a user', () => {
    expect(read(`Ring${OURS}twice`)).toEqual({ ours: OURS, theirs: 'Ring\ntwice' });
    const above = Array.from({ length: 700 }, (_, index) => `note${index}`).join(' ');
    expect(read(`${above}\n${OURS}`)).toEqual({ ours: OURS, theirs: above });
  });

  test('is searched only up to a limit: a longer text belongs to the user', () => {
    const long = `${OURS}\n${'a'.repeat(1_000_000)}`;
    expect(read(long).theirs).toBe(long);
    expect(read('a'.repeat(19_000), `ours.9000.${STAMP.slice(-11)}`).theirs).toHaveLength(19_000);
  });
});

const NAMES: readonly PresetName[] = ['colour', 'category', 'reminderMinutes', 'pageUrl', 'teleVisitUrl'];

const presets: fc.Arbitrary<Presets> = fc.record(
  {
    colour: fc.constantFrom(...COLOURS),
    category: fc.constantFrom('Surgery', 'Check-up'),
    reminderMinutes: fc.oneof(fc.nat(60), fc.constant('none' as const)),
    pageUrl: fc.constantFrom('https://clinic.example/1', 'https://clinic.example/2'),
    teleVisitUrl: fc.constantFrom('https://visit.example/1', 'https://visit.example/2'),
  },
  { requiredKeys: [] },
);

/** The event after a write: what it names is so. */
function eventAfter(shown: Presets, changes: ReturnType<typeof presetChanges>): Partial<Record<PresetName, unknown>> {
  return Object.fromEntries(
    Object.entries({ ...shown, ...changes }).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

describe('the presets of an event', () => {
  test('come back from the text that the event is stamped with', () => {
    fc.assert(
      fc.property(presets, (one) => {
        expect(fromPresetsText(toPresetsText(one))).toEqual(one);
      }),
    );
  });

  test('are stamped in letters and digits, which no server or client has to escape', () => {
    fc.assert(
      fc.property(presets, (one) => {
        expect(toPresetsText(one)).toMatch(/^[\w-]+$/);
      }),
    );
  });

  test.each([undefined, null, '', '{', '[]', '7', '{"colour":"ultraviolet"}', '{"reminderMinutes":true}'])(
    'are none where the stamp is %s',
    (text) => {
      expect(fromPresetsText(text)).toEqual({});
      expect(fromPresetsText(Buffer.from(text ?? '').toString('base64url'))).toEqual({});
    },
  );

  test('follow the item until a user changes them', () => {
    fc.assert(
      fc.property(fc.array(presets), (wanted) => {
        let shown: Partial<Record<PresetName, unknown>> = {};
        let last: Presets = {};
        for (const next of wanted) {
          shown = eventAfter(shown as Presets, presetChanges(presetsThere(last, shown), next));
          expect(shown).toEqual(next);
          last = next;
        }
      }),
    );
  });

  test('remain as a user left them, and the other presets follow the item', () => {
    fc.assert(
      fc.property(presets, presets, presets, (first, byHand, wanted) => {
        const there = presetsThere(first, byHand);
        const then = eventAfter(byHand, presetChanges(there, wanted));
        for (const name of NAMES) {
          expect(then[name]).toEqual(byHand[name] === first[name] ? wanted[name] : byHand[name]);
        }
      }),
    );
  });

  test('of a new event are all presets of the item', () => {
    fc.assert(
      fc.property(presets, (wanted) => {
        expect(presetChanges(NO_PRESETS, wanted)).toEqual(wanted);
      }),
    );
  });
});
