import fc from 'fast-check';
import { expect, test } from 'vitest';
import { multistatusOf } from '../../../src/connectors/caldav/multistatus.ts';
import { ELEMENTS_AT_ONCE, escapeXml, LONGEST_PIECE } from '../../../src/connectors/xml.ts';

const element = fc.letrec((tie) => ({
  element: fc
    .tuple(
      fc.constantFrom('response', 'propstat', 'prop', 'href', 'status', 'C:comp', 'getetag', 'x'),
      fc.option(fc.string(), { nil: null }),
      fc.oneof({ depthSize: 'small' }, fc.string().map(escapeXml), fc.array(tie('element'), { maxLength: 4 })),
    )
    .map(([tag, name, inner]) => {
      const attribute = name === null ? '' : ` name="${escapeXml(name)}" other="1"`;
      return `<${tag}${attribute}>${Array.isArray(inner) ? inner.join('') : inner}</${tag}>`;
    }),
})).element as fc.Arbitrary<string>;

const member = fc
  .tuple(fc.array(element, { maxLength: 3 }), fc.constantFrom('200 OK', '404 Not Found'))
  .map(
    ([properties, status]) =>
      `<response><href>/a</href><href>/b</href><propstat><prop>${properties.join('')}</prop><status>HTTP/1.1 ${status}</status></propstat></response>`,
  );

const partsOf = (text: string) => multistatusOf([Buffer.from(text)]);

test('a 207 is the same whether it is read in one part or in many', () => {
  const pause = '<!---->'.repeat(ELEMENTS_AT_ONCE);
  const long = '<!-- -->'.repeat(LONGEST_PIECE / 8 + 1);
  fc.assert(
    fc.property(fc.array(fc.oneof(member, element), { maxLength: 8 }), (responses) => {
      const whole = (between: string) => {
        const inner = [...responses, '<sync-token> t </sync-token>'].join(between);
        const parts = [
          ...partsOf(
            `<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">${inner}${between}</multistatus>`,
          ),
        ];
        return {
          count: parts.length,
          token: parts.at(-1)?.syncToken,
          members: parts.flatMap((part) => part.responses),
        };
      };
      const { count, ...once } = whole('');
      expect(count).toBe(1);
      expect(whole(pause)).toEqual({ ...once, count: expect.toSatisfy((parts) => parts > responses.length) });
      expect(whole(long)).toMatchObject(once);
    }),
    { numRuns: 20 },
  );
});

test('a body is the same in parts of any length', () => {
  const document = `<multistatus xmlns="DAV:"><sync-token>é😀€</sync-token></multistatus>`;
  const bytes = Buffer.from(document);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 9 }), (cuts) => {
      const bounds = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
      const body = bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
      expect([...multistatusOf(body)].at(-1)).toEqual([...partsOf(document)].at(-1));
      expect([...multistatusOf(body)].at(-1)).toMatchObject({ syncToken: 'é😀€' });
    }),
  );
});

test('a text above its limit keeps a length that no user of the text accepts', () => {
  const long = 'x'.repeat(20 * LONGEST_PIECE);
  const [part] = [...partsOf(`<multistatus xmlns="DAV:"><sync-token>${long}</sync-token></multistatus>`)].slice(-1);
  expect(part?.syncToken?.length).toBeGreaterThan(LONGEST_PIECE);
  expect(part?.syncToken?.length).toBeLessThanOrEqual(2 * LONGEST_PIECE);
});

test('a short text of a long document keeps its content', () => {
  const text = '"an ETag of some length 😀"';
  const padding = ' '.repeat(4 * LONGEST_PIECE);
  const parts = partsOf(`<multistatus xmlns="DAV:"><sync-token>${text}</sync-token>${padding}</multistatus>`);
  expect([...parts].at(-1)).toMatchObject({ syncToken: text });
});

test('a 207 that is no XML is refused', () => {
  const read = (text: string) => [...partsOf(text)];
  for (const rest of [' ', ' '.repeat(5 * LONGEST_PIECE), '<![CDATA[', `<![CDATA[${' '.repeat(LONGEST_PIECE)}`]) {
    expect(() => read(`<multistatus>${rest}`)).toThrow(expect.objectContaining({ code: 'bad-xml', actor: 'contract' }));
  }
});
