import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VendorErrors } from '../../src/connectors/errors.ts';
import { inItalian, namesIn, sentence, TABLES } from '../../src/model/sentences.ts';
import { FAULTS } from '../../tools/fault-table.ts';

const CONNECTORS = new URL('../../src/connectors/', import.meta.url);
const PAIRS = Object.values(TABLES).flatMap((table) => Object.entries(table));
/** What stands for a value: an id, a count, a sentence that is nobody's. */
const VALUES = fc.record({
  word: fc.stringMatching(/^[a-z0-9][\w.@-]{0,20}$/),
  number: fc.integer({ min: 0, max: 5_000 }),
});

/** What is there to be said by a vendor of a whole target. */
async function toldOfTargets(): Promise<string[]> {
  const folders = readdirSync(CONNECTORS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const told = folders.map(async ({ name }) => {
    const { errors } = (await import(new URL(`${name}/errors.ts`, CONNECTORS).href)) as { errors: VendorErrors };
    return Object.values(errors.kinds).flatMap(({ scope, message, remedy }) =>
      scope === 'target' ? [message.replaceAll('{vendor}', errors.vendor), remedy ?? ''] : [],
    );
  });
  return [...new Set((await Promise.all(told)).flat())].filter((text) => text !== '');
}

describe('the tables', () => {
  test('have each sentence once, with the same values in both languages', () => {
    expect(PAIRS.length).toBeGreaterThan(200);
    expect(new Set(PAIRS.map(([english]) => english)).size).toBe(PAIRS.length);
    for (const [english, italian] of PAIRS) {
      expect(namesIn(italian).toSorted(), english).toEqual(namesIn(english).toSorted());
      if (!/^\w+ \{\w+\}$/.test(english)) expect(italian, 'is not translated').not.toBe(english);
    }
  });

  test('have whatever is told of a vendor', async () => {
    const told = await toldOfTargets();
    expect(told.length).toBeGreaterThan(100);
    expect(told.filter((text) => inItalian(text) === null)).toEqual([]);
  });

  test('have whatever is told of a fault that an operator may meet, and what to do; commands stay as they are', () => {
    const told = Object.values(FAULTS).flatMap(({ sentence: text, next }) => [text, next ?? '']);
    const sayable = told.filter((text) => text !== '' && !text.startsWith('clinic-mirror '));
    expect(sayable.length).toBeGreaterThan(50);
    // `<…>` stands for a value; of a number it stands for one.
    const filled = sayable.map((text) => text.replaceAll('<n>', '7'));
    expect(filled.filter((text) => inItalian(text) === null)).toEqual([]);
    for (const text of filled) {
      const [command] = /clinic-mirror [a-z-]+( [a-z-]+)* clinic-1.*$/.exec(text) ?? [''];
      expect(inItalian(text)).toContain(command);
    }
  });
});

describe('a sentence', () => {
  test('is read back from English whatever stands in it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.entries(TABLES.PROBLEMS ?? {})),
        VALUES,
        ([english, italian], { word, number }) => {
          const counts = /\{count/.test(english);
          const of = (template: string) =>
            template.replaceAll(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) =>
              one === undefined ? (name === 'share' ? String(number) : word) : `${number} ${number === 1 ? one : many}`,
            );
          expect(inItalian(of(english))).toBe(of(italian));
          if (counts) expect(of(english)).toContain(String(number));
        },
      ),
    );
  });

  test('has the word that fits its number, in both languages', () => {
    const held = (count: number) => sentence('{count:change|changes} held back until a person decides', { count });
    expect([held(1), inItalian(held(1))]).toEqual([
      '1 change held back until a person decides',
      '1 modifica sospesa finché una persona non decide',
    ]);
    expect([held(48), inItalian(held(48))]).toEqual([
      '48 changes held back until a person decides',
      '48 modifiche sospese finché una persona non decide',
    ]);
  });

  test('that holds another one is said with it, and what it is about stays', () => {
    expect(
      inItalian('the last cycle failed: clinic.appointments.list: the clinic is not able to answer, status 503'),
    ).toBe(
      'l’ultimo ciclo non è riuscito: clinic.appointments.list: la clinica non è in grado di rispondere, stato 503',
    );
    expect(inItalian('HubSpot has no such property: contacts.email, contacts.phone')).toBe(
      'HubSpot non ha questa proprietà: contacts.email, contacts.phone',
    );
    expect(inItalian('the last cycle failed: something that nobody foresaw')).toBe(
      'l’ultimo ciclo non è riuscito: something that nobody foresaw',
    );
  });

  test('that is in no table has no words, and costs next to nothing however long it is', () => {
    expect(inItalian('something that nobody foresaw')).toBeNull();
    expect(inItalian('clinic-mirror holds list aurora')).toBeNull();
    expect(inItalian(`${'x: '.repeat(200)}y`)).toBeNull();
  });
});
