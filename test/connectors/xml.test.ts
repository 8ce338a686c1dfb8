import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';
import { CALDAV, DAV, VOCABULARY } from '../../src/connectors/caldav/xml-names.ts';
import { child, escapeXml, LONGEST_PIECE, parseXml as parseNamed, type XmlElement } from '../../src/connectors/xml.ts';

const parseXml = (document: string) => parseNamed(document, VOCABULARY);

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
