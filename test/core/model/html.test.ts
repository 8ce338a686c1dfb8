import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeHtml, Html, html } from '../../../src/core/model/html.ts';

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

test('escaped text holds no character that ends text or an attribute, and says the same', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(fc.constantFrom(...'&<>"\'a;')).map((all) => all.join('')),
      ),
      (text) => {
        const escaped = escapeHtml(text);
        expect(escaped).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
        expect(escaped.replaceAll(/&([\w#]+);/g, (_, name: string) => NAMED[name] ?? '')).toBe(text);
      },
    ),
  );
});

test('text in a template is escaped, HTML in it is not, and a list is put in whole', () => {
  const items = ['<b>', 7].map((item) => html`<li>${item}</li>`);
  expect(String(html`<ul class="${'"x'}">${items}</ul>`)).toBe('<ul class="&quot;x"><li>&lt;b&gt;</li><li>7</li></ul>');
  expect(String(html`${new Html('<br>')}${['<', new Html('<hr>')]}`)).toBe('<br>&lt;<hr>');
});

test('null, undefined and false leave nothing; 0 and an empty string are values', () => {
  expect(String(html`[${null}${undefined}${false}${0}${''}]`)).toBe('[0]');
});
