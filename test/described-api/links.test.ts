import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextLink, parseLinks } from '../../src/described-api/links.ts';

describe('a Link header (RFC 8288)', () => {
  it.each([
    ['<https://x/a?page=2>; rel="next", <https://x/a?page=9>; rel="last"', 'https://x/a?page=2'],
    ['</a?ids=1,2;3>; rel=next', '/a?ids=1,2;3'],
    ['<a>; rel="prev first", <b>; rel="last NEXT"', 'b'],
    ['<a>;rel="prev",<b>;title="a, <c>; rel=\\"next\\"";rel="next"', 'b'],
    ['<a> ; REL = "next"', 'a'],
    ['<a>; rel="prev"; rel="next", <b>; rel=next', 'b'],
    ['<a>; rel=next; anchor="/other", <b>; rel=next', 'b'],
    ['<a>; title="x"; rel=next', 'a'],
    ['<a>; hreflang; rel=next', 'a'],
    ['rubbish, <b>; rel=next', 'b'],
    ['<a>; rel="prev" rubbish="1, 2", <b>; rel=next', 'b'],
    [', , <b>; rel=next', 'b'],
    ['<>; rel=next', ''],
    ['<a>; title="x\\\\"; rel=next', 'a'],
    ['<a>; rel="ne\\xt"', 'a'],
    ['rubbish="1, <x>; rel=next", <b>; rel=next', 'b'],
    ['rubbish="1\\", <x>; rel=next", <b>; rel=next', 'b'],
    ['rubbish="1", <b>; rel=next', 'b'],
    ['rubbish="12", <b>; rel=next', 'b'],
    ['rubbish="1 < 2", <b>; rel=next', 'b'],
    ['rubbish\\, <b>; rel=next', 'b'],
    ['rubbish <a,"x>, <b>; rel=next', 'b'],
  ])('%s', (header, target) => expect(nextLink(header)).toBe(target));

  it.each([
    null,
    '',
    '<a>',
    '<a>; rel=prev',
    '<a; rel=next',
    'a; rel=next',
    '<a>; rel="nextish"',
    '<a>; title="rel=next"',
  ])('names no next page: %s', (header) => expect(nextLink(header)).toBe(null));

  it.each(['<a>', '<a>; rel', '<a>; rel=""', '<a>; rel=" "', '; rel=next', 'x; rel=next', '<a>; rel=next; anchor="b"'])(
    'ignores a link without target or relation to the answer: %s',
    (header) => expect(parseLinks(header)).toEqual([]),
  );

  it('holds each of the relations of a link', () => {
    expect(parseLinks('<a>; rel=" next  LAST "')).toEqual([{ target: 'a', relations: ['next', 'last'] }]);
  });

  it('returns the links of a composed header, whatever the strings contain', () => {
    const text = fc.stringMatching(/^[^"\\<>]*$/).map((value) => value.replaceAll(/[^\x20-\x7e]/g, ''));
    const link = fc.record({ target: fc.webUrl({ withQueryParameters: true }), title: text, next: fc.boolean() });
    fc.assert(
      fc.property(fc.array(link, { maxLength: 5 }), (links) => {
        const header = links.map(
          (one) => `<${one.target}>; title="${one.title}"; rel="${one.next ? 'x next' : 'prev'}"`,
        );
        expect(parseLinks(header.join(', '))).toEqual(
          links.map((one) => ({ target: one.target, relations: one.next ? ['x', 'next'] : ['prev'] })),
        );
      }),
    );
  });

  it('ends in time on whatever comes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '>', '"', '\\', ';', ',', '=', 'rel', 'next', ' ') }),
        (header) => {
          expect(Array.isArray(parseLinks(header))).toBe(true);
        },
      ),
    );
    expect(parseLinks('<'.repeat(50_000) + '";'.repeat(50_000))).toEqual([]);
    expect(parseLinks('<,'.repeat(50_000))).toEqual([]);
  });
});
