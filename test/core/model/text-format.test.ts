import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatText, valuesOf } from '../../../src/core/model/text-format.ts';
import { parseTitleFormat, TITLE_VALUES, type TitleValue } from '../../../src/settings/event-fields.ts';

const format = (text: string) => parseTitleFormat(text) ?? expect.fail(`${text} is no format`);

describe('a format', () => {
  test.each([
    '',
    'no value',
    '{',
    '{title',
    'title}',
    '{name}',
    '{title}{name}',
    '[{title}',
    '[[{title}]]',
    '{title}]',
  ])('is not "%s"', (text) => {
    expect(parseTitleFormat(text)).toBeNull();
  });

  test('lists its values in their order, including repetitions', () => {
    expect(valuesOf(format('{agenda}: {title} [({status})][{agenda}]'))).toEqual([
      ...['agenda', 'title', 'status', 'agenda'],
    ]);
  });
});

describe('a title', () => {
  const values = fc.constantFrom(...TITLE_VALUES);

  test('leaves a section in brackets out if one of its values is missing, and only then', () => {
    const parsed = format('[{agenda}: ]{title}[ ({location}, {status})]');
    const all: Partial<Record<TitleValue, string>> = {
      agenda: 'Room 1',
      title: 'Visit',
      location: 'North',
      status: 'booked',
    };
    const titleWithout = (...missing: TitleValue[]) =>
      formatText(parsed, (name) => (missing.includes(name) ? null : (all[name] ?? null)));
    expect(titleWithout()).toBe('Room 1: Visit (North, booked)');
    expect(titleWithout('agenda')).toBe('Visit (North, booked)');
    expect(titleWithout('status')).toBe('Room 1: Visit');
    expect(titleWithout('title')).toBe('Room 1: (North, booked)');
  });

  test('holds each value that it names, and no space twice or at an end', () => {
    fc.assert(
      fc.property(
        fc.array(values, { minLength: 1, maxLength: 5 }),
        fc.stringMatching(/^[ -]{0,4}$/),
        (names, between) => {
          const title = formatText(format(names.map((name) => `{${name}}`).join(` ${between}`)), (name) => `<${name}>`);
          for (const name of names) expect(title).toContain(`<${name}>`);
          expect(title).not.toMatch(/^\s|\s$|\s\s/);
        },
      ),
    );
  });
});
