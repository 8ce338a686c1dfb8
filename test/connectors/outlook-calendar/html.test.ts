import fc from 'fast-check';
import { expect, test } from 'vitest';
import { htmlToText } from '../../../src/connectors/outlook-calendar/html.ts';

test.each([
  ['a<br>b<BR/>c', 'a\nb\nc'],
  ['<p>a</p><div>b</div><h1>c</h1>d', 'a\nb\nc\nd'],
  ['a <br>\r\n b', 'a\nb'],
  ['a\r\nb', 'a b'],
  ['<b>bold</b> <brand>text</brand>', 'bold text'],
])('breaks and the ends of blocks begin a line, other tags and line ends of the source none: %j', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test.each([
  ['<head><title>x</title></head>a', 'a'],
  ['<STYLE>p { color: red }</style >a<script>1 < 2</script>b', 'ab'],
  ['a<!-- <br> -->b', 'ab'],
])('invisible parts are omitted: %j', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test.each([
  ['a <!-- b', 'a <!-- b'],
  ['<style>a', 'a'],
  ['a < b', 'a < b'],
  ['<headline>a', 'a'],
])('what does not end hides nothing: %j', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test.each([
  ['&amp;&LT;&gt;&quot;&apos;&nbsp;', '&<>"\' '],
  ['&#8364;&#x20AC;', '€€'],
  ['&eacute;&#x110000;&amp;lt;', '&eacute;&#x110000;&lt;'],
])('characters by name or number are written once, unknown ones stay: %j', (html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test('any string written in HTML is read unchanged', () => {
  const word = fc.string({ unit: fc.constantFrom(...'<>&"\'aé🙂;#'), minLength: 1 });
  fc.assert(
    fc.property(fc.array(word), (lines) => {
      const html = lines.map((line) => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'));
      expect(htmlToText(html.join('<br>'))).toBe(lines.join('\n'));
    }),
  );
});
