import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fromPresetsText,
  NO_PRESETS,
  type PresetName,
  presetChanges,
  presetsThere,
  toPresetsText,
} from '../../src/connectors/presets.ts';
import { COLOURS, type Presets } from '../../src/model/items.ts';

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

  test('follow the item as long as nobody touches them', () => {
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

  test('stand as a person left them, whatever is wanted, and the others follow', () => {
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

  test('of a new event are all that is wanted', () => {
    fc.assert(
      fc.property(presets, (wanted) => {
        expect(presetChanges(NO_PRESETS, wanted)).toEqual(wanted);
      }),
    );
  });
});
