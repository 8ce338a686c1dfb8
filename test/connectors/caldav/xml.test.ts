import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';
import { LARGE_XML_LENGTH } from '../../../src/connectors/caldav/limits.ts';
import {
  CALDAV,
  child,
  DAV,
  escapeXml,
  multistatusOf,
  parseXml,
  type XmlElement,
} from '../../../src/connectors/caldav/xml.ts';

describe('reading XML', () => {
  test.each([
    ['prefix D', '<D:a xmlns:D="DAV:"><D:b>1</D:b></D:a>'],
    ['no prefix', '<a xmlns="DAV:"><b>1</b></a>'],
    ['another prefix further in', '<a xmlns="DAV:"><ns0:b xmlns:ns0="DAV:">1</ns0:b></a>'],
    ['CDATA', '<a xmlns="DAV:"><b><![CDATA[1]]></b></a>'],
    [
      'a declaration, a comment and a byte order mark',
      '\uFEFF<?xml version="1.0"?><!-- x --><a xmlns="DAV:"><b>1</b></a>',
    ],
  ])('names elements by namespace, whatever the spelling: %s', (_name, document) => {
    const root = parseXml(document);
    expect(root.name).toBe(`${DAV}a`);
    expect(child(root, `${DAV}b`)?.text).toBe('1');
  });

  test('distinguishes elements with the same name in two namespaces', () => {
    const root = parseXml('<a xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><calendar/><C:calendar/></a>');
    expect(root.children.map(({ name }) => name)).toEqual([`${DAV}calendar`, `${CALDAV}calendar`]);
  });

  test('decodes the five entities and character references, once, and keeps white space', () => {
    const root = parseXml('<a> &amp;lt; &quot;&#13;&#10;&#x1F600;&apos;<![CDATA[&amp;<b>]]>&copy; </a>');
    expect(root.text).toBe(` &lt; "\r\n😀'&amp;<b>&copy; `);
  });

  test('writes what it reads back', () => {
    const text = `<&>"' ]]> é😀`;
    const root = parseXml(`<a b="${escapeXml(text)}">${escapeXml(text)}</a>`);
    expect(root).toMatchObject({ text, attributes: { b: text } });
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
  const name = fc.constantFrom('a', 'D:b', 'C:c', 'href');
  const text = fc.string({ unit: fc.constantFrom('x', ' ', '\n', '\r\n', '&amp;', '&#233;', 'é', '"', "'", ']', '-') });
  const { document } = fc.letrec<{ document: string }>((tie) => ({
    document: fc
      .tuple(
        name,
        fc.array(fc.tuple(fc.constantFrom('p', 'q:r'), text), { maxLength: 2 }),
        fc.array(tie('piece') as never),
      )
      .map(([tag, attributes, pieces]) => {
        const written = attributes.map(([key, value], index) => ` ${key}${index}="${value.replaceAll('"', '')}"`);
        return `<${tag}${written.join('')}>${(pieces as string[]).join('')}</${tag}>`;
      }),
    piece: fc.oneof(
      { weight: 2, arbitrary: text },
      fc.constantFrom('<!-- no -->', '<?no?>', '<e/>', '<e f="1" />'),
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
          : [[tag.replace(/^\w+:/, ''), Object.keys(node[':@'] ?? {}), ...namesIn(node[tag] as never)]];
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

test('a 207 is the same whether a thread parses it or not', async () => {
  const padding = `<!--${' '.repeat(LARGE_XML_LENGTH)}-->`;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(member, element), { maxLength: 8 }), async (responses) => {
      const document = `<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">${responses.join('')}<sync-token> t </sync-token></multistatus>`;
      const here = await Array.fromAsync(multistatusOf(document, 'dav.example'));
      expect(await Array.fromAsync(multistatusOf(document + padding, 'dav.example'))).toEqual(here);
    }),
  );
});

test('a 207 that is no XML is refused with the same code', async () => {
  const read = (text: string) => Array.fromAsync(multistatusOf(text, 'dav.example'));
  for (const length of [1, LARGE_XML_LENGTH]) {
    await expect(read(`<multistatus>${' '.repeat(length)}`)).rejects.toMatchObject({
      code: 'bad-xml',
      actor: 'contract',
    });
  }
});
