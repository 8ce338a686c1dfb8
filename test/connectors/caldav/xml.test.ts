import { describe, expect, test } from 'vitest';
import { CALDAV, child, DAV, escapeXml, parseXml } from '../../../src/connectors/caldav/xml.ts';

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

  test('tells elements of one name in two namespaces apart', () => {
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
