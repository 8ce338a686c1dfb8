import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LARGE_XML_LENGTH } from '../../../src/connectors/caldav/limits.ts';
import { multistatusOf } from '../../../src/connectors/caldav/multistatus.ts';
import { escapeXml } from '../../../src/connectors/caldav/xml.ts';

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
