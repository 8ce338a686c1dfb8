import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';
import { ELEMENTS_AT_ONCE, LONGEST_PIECE } from '../../../src/connectors/caldav/limits.ts';
import { child, escapeXml, multistatusOf, parseXml, type XmlElement } from '../../../src/connectors/caldav/xml.ts';
import { CALDAV, DAV } from '../../../src/connectors/caldav/xml-names.ts';

describe('reading XML', () => {
  test.each([
    ['prefix D', '<D:prop xmlns:D="DAV:"><D:href>1</D:href></D:prop>'],
    ['no prefix', '<prop xmlns="DAV:"><href>1</href></prop>'],
    ['another prefix further in', '<prop xmlns="DAV:"><ns0:href xmlns:ns0="DAV:">1</ns0:href></prop>'],
    ['CDATA', '<prop xmlns="DAV:"><href><![CDATA[1]]></href></prop>'],
    [
      'a declaration, a comment and a byte order mark',
      '\uFEFF<?xml version="1.0"?><!-- x --><prop xmlns="DAV:"><href>1</href></prop>',
    ],
  ])('names elements by namespace, whatever the spelling: %s', (_name, document) => {
    const root = parseXml(document);
    expect(root.name).toBe(`${DAV}prop`);
    expect(child(root, `${DAV}href`)?.text).toBe('1');
  });

  test('distinguishes elements with the same name in two namespaces', () => {
    const root = parseXml('<a xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><calendar/><C:calendar/></a>');
    expect(root.children.map(({ name }) => name)).toEqual([`${DAV}calendar`, `${CALDAV}calendar`]);
  });

  test('keeps no name that is not compared, and nothing in such an element', () => {
    const root = parseXml('<a xmlns="u"><D:b xmlns:D="DAV:" c="1"><D:href/></D:b><href name="n" x="1"/><e>1</e></a>');
    const empty = { text: '', attributes: {}, children: [] };
    expect(root).toEqual({
      ...{ name: '{}', text: '', attributes: {} },
      children: [
        { name: DAV, ...empty },
        { name: '{}href', ...empty, attributes: { name: 'n' } },
        { name: '{}', ...empty },
      ],
    });
  });

  test('decodes the five entities and character references, once, and keeps white space', () => {
    const root = parseXml('<a> &amp;lt; &quot;&#13;&#10;&#x1F600;&apos;<![CDATA[&amp;<b>]]>&copy; </a>');
    expect(root.text).toBe(` &lt; "\r\n😀'&amp;<b>&copy; `);
  });

  test('writes what it reads back', () => {
    const text = `<&>"' ]]> é😀`;
    const root = parseXml(`<a name="${escapeXml(text)}">${escapeXml(text)}</a>`);
    expect(root).toMatchObject({ text, attributes: { name: text } });
  });

  test.each([
    '',
    'hello',
    '<a><b></a>',
    '<a>cut',
    '{"a":1}',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    '<!doctype html><html></html>',
  ])('refuses what is not XML or declares a document type: %j', (document) => {
    expect(() => parseXml(document)).toThrow(expect.objectContaining({ code: 'bad-xml', actor: 'contract' }));
  });
});

describe('as another parser reads it', () => {
  const name = fc.constantFrom('prop', 'D:status', 'C:comp', 'href');
  const text = fc.string({ unit: fc.constantFrom('x', ' ', '\n', '\r\n', '&amp;', '&#233;', 'é', '"', "'", ']', '-') });
  const { document } = fc.letrec<{ document: string }>((tie) => ({
    document: fc
      .tuple(
        name,
        fc.array(fc.tuple(fc.constantFrom('name', 'q:r'), text), { maxLength: 2 }),
        fc.array(tie('piece') as never),
      )
      .map(([tag, attributes, pieces]) => {
        const written = attributes.map(
          ([key, value], index) => ` ${key}${index === 0 ? '' : index}="${value.replaceAll('"', '')}"`,
        );
        return `<${tag}${written.join('')}>${(pieces as string[]).join('')}</${tag}>`;
      }),
    piece: fc.oneof(
      { weight: 2, arbitrary: text },
      fc.constantFrom('<!-- no -->', '<?no?>', '<all/>', '<all name="1" />'),
      text.map((inner) => `<![CDATA[${inner.replaceAll(']', '')}]]>`),
      tie('document'),
    ),
  }));

  test('has the same elements and attributes, in the same places', () => {
    const parser = new XMLParser({
      ...{ preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '', parseTagValue: false },
      ...{
        parseAttributeValue: false,
        trimValues: false,
        processEntities: false,
        ignorePiTags: true,
        cdataPropName: '#cdata',
      },
    });
    const namesIn = (nodes: Record<string, unknown>[]): unknown[] =>
      nodes.flatMap((node) => {
        const tag = Object.keys(node).find((key) => key !== ':@' && !key.startsWith('#'));
        return tag === undefined
          ? []
          : [
              [
                tag.replace(/^\w+:/, ''),
                Object.keys(node[':@'] ?? {}).filter((key) => key === 'name'),
                ...namesIn(node[tag] as never),
              ],
            ];
      });
    const ours = ({ name, attributes, children }: XmlElement): unknown[] => [
      name.slice(2),
      Object.keys(attributes),
      ...children.map(ours),
    ];
    fc.assert(
      fc.property(document, (written) => {
        expect([ours(parseXml(written))]).toEqual(namesIn(parser.parse(written)));
      }),
    );
  });
});

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

test('a long text is the same as its parts, wherever a reference or a line end is cut', () => {
  const piece = fc.constantFrom('&amp;', '&#x10FFFF;', '&#10;', '\r\n', '\r', '\n', 'a', 'é', '😀', '&', '&unknown;');
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 30 }),
      fc.nat({ max: 12 }),
      fc.boolean(),
      (pieces, shift, isPlain) => {
        const padding = 'x'.repeat(LONGEST_PIECE - shift);
        const read = (text: string) => parseXml(`<a>${isPlain ? text : `<![CDATA[${text}]]>`}</a>`).text;
        expect(read(padding + pieces.join(''))).toBe(padding + read(pieces.join('')));
      },
    ),
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
