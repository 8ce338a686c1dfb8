import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizedBody } from '../../../sandbox/graph/body-text.ts';
import { canonicalPropertyId } from '../../../sandbox/graph/extended-properties.ts';
import { parseExpand, parseFilter } from '../../../sandbox/graph/odata-filter.ts';
import { formatWallTime, parseWallTime, storedZoneName, toIana } from '../../../sandbox/graph/time.ts';
import { property } from './support.ts';

const ZONES = ['Etc/UTC', 'Europe/Zurich', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Katmandu', 'Pacific/Apia'];
const instant = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2045, 0, 1) });

describe('wall time', () => {
  it('written and read again is the same', () => {
    fc.assert(
      fc.property(instant, fc.constantFrom(...ZONES), (epochMs, zone) => {
        const written = formatWallTime(epochMs, zone);
        expect(written).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}$/);
        const read = parseWallTime(written, zone);
        // The second hour of an overlap reads as the first.
        expect([0, 1_800_000, 3_600_000]).toContain(epochMs - (read ?? 0));
        expect(formatWallTime(read ?? 0, zone)).toBe(written);
      }),
    );
  });

  it.each(['2027-02-29T00:00:00', '2027-03-01T24:00:00', '2027-03-01', '2027-03-01T09:00:00.12345678', 'soon'])(
    'is never %s',
    (text) => {
      expect(parseWallTime(text, 'Europe/Zurich')).toBeUndefined();
    },
  );

  it('has a zone for every name that it returns', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      const name = storedZoneName(zone);
      if (!name.startsWith('tzone:')) {
        const expected = formatWallTime(Date.UTC(2027, 0, 15), zone);
        expect(formatWallTime(Date.UTC(2027, 0, 15), toIana(name))).toBe(expected);
      }
    }
  });
});

describe('a filter', () => {
  it('returns any quoted string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const quoted = value.replaceAll("'", "''");
        expect(parseFilter(`subject eq '${quoted}'`)).toEqual({
          kind: 'compare',
          path: 'subject',
          operator: 'eq',
          value,
        });
        const any = `singleValueExtendedProperties/Any(ep: ep/id eq '${property('Key')}' and ep/value eq '${quoted}')`;
        expect(parseFilter(any)).toEqual({ kind: 'property', id: property('Key'), value });
      }),
    );
  });

  it('refuses invalid input with a separate error', () => {
    const words = fc.constantFrom('subject', 'eq', "'a'", 'and', 'or', '(', ')', ':', ',', '7', 'null', 'x/Any', "'");
    fc.assert(
      fc.property(fc.array(words), (parts) => {
        try {
          parseFilter(parts.join(' '));
        } catch (error) {
          expect(error).toMatchObject({ name: 'GraphError', status: 400 });
        }
      }),
    );
  });

  it('inside an expansion names properties', () => {
    const both = `singleValueExtendedProperties($filter=id eq '${property('A')}' or id eq '${property('B')}')`;
    expect(parseExpand(both)).toEqual([property('A'), property('B')]);
    expect(() => parseExpand('attachments')).toThrow();
  });
});

describe('a property id', () => {
  it('keeps the case of the name, and nothing else’s', () => {
    const shouted = property('MirrorKey').toUpperCase().replace('MIRRORKEY', 'MirrorKey').replace('NAME', 'name');
    expect(canonicalPropertyId(shouted)).toBe(property('MirrorKey'));
    expect(canonicalPropertyId(property('mirrorkey'))).not.toBe(property('MirrorKey'));
  });
});

describe('a body', () => {
  it('says the same as text, whichever way it went', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', ' b', '<', '>', '&', '&lt;', '"', '\n', 'ä', '😀')), (parts) => {
        const text = parts.join('');
        const html = normalizedBody({ contentType: 'text', content: text }, 'html');
        const plain = normalizedBody({ contentType: 'text', content: text }, 'text');
        expect(normalizedBody({ ...html, contentType: 'html' }, 'text')).toEqual(plain);
        expect(plain.content.replaceAll('\r\n', '\n').trimEnd()).toBe(text.trimEnd());
        expect(normalizedBody({ ...html, contentType: 'html' }, 'html')).toEqual(html);
      }),
    );
  });
});
