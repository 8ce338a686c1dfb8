import fc from 'fast-check';
import { LONGEST_URL } from '../../src/connectors/caldav/limits.ts';

/** Parts that a server can repeat, with a number and a length drawn at random. */
const FAMILIES: Record<string, (index: number, long: string, short: string) => string> = {
  'ever new names': (index, _, short) => `<p:${short}${index}/>`,
  'known names': () => '<p:all/><all/>',
  'declared namespaces': (_, long) => `<a xmlns="${long}"><a/><href/></a>`,
  'declared prefixes': (index, long, short) => `<q${index}:a xmlns:q${index}="${long}" xmlns:${short}="DAV:"/>`,
  'nested names': (_, long, short) => `${`<${short} xmlns="${long}">`.repeat(9)}${`</${short}>`.repeat(9)}`,
  'long names': (_, long) => `<${long}/>`,
  attributes: (index, long, short) => `<p:comp name="${long}" ${short}${index}="${short}"/>`,
  'many attributes': (_, long, short) => `<a${` ${short}=""`.repeat(Math.min(99, long.length))}/>`,
  references: () => '&amp;&#x1F600;&unknown;',
  'references in attributes': (_, long) => `<comp name="${'&lt;'.repeat(long.length / 4)}"/>`,
  hrefs: (_, __, short) => `<href>${short}</href>`,
  'long hrefs': (_, long) => `<href>${long}</href>`,
  'hrefs that grow': (_, long) => `<href>${'é'.repeat(long.length)}</href>`,
  responses: (index) => `<response><href>${index}</href><status>HTTP/1.1 507 x</status></response>`,
  comments: () => 'a<!---->',
  sections: (_, long) => `a<![CDATA[${long}]]>`,
  'line ends': (_, long) => '\r'.repeat(long.length),
  text: (_, long) => `${long}€`,
};
const PLACES = [
  ['', ''],
  ['<response><href>a</href>', '</response>'],
  ['<response><href>a</href><propstat><status>HTTP/1.1 200 OK</status><prop>', '</prop></propstat></response>'],
  ['<response><propstat><prop><c:calendar-data>', '</c:calendar-data></prop></propstat></response>'],
  ['<sync-token>', '</sync-token>'],
  ['<unknown>', '</unknown>'],
] as const;

interface Drawn {
  family: string;
  place: readonly [string, string];
  long: number;
  short: number;
  bytes: number;
  namespace: number;
  path: number;
}

/**
 * A 207 whose answer multiplies, and the path to which its server redirects; both are written on request, so that a failure shows the parameters only.
 * @param longest bytes of the repeated parts
 */
export const multiplyingXml = (longest: number) =>
  fc
    .record({
      family: fc.constantFrom(...Object.keys(FAMILIES)),
      place: fc.constantFrom(...PLACES),
      long: fc.oneof(
        ...[{ weight: 9, arbitrary: fc.integer({ min: 1, max: 2_000 }) }, fc.integer({ min: 1, max: 20_000 })],
      ),
      short: fc.integer({ min: 1, max: 30 }),
      bytes: fc.integer({ min: 1_000, max: longest }),
      namespace: fc.oneof(...[{ weight: 9, arbitrary: fc.nat({ max: 1_000 }) }, fc.nat({ max: 20_000 })]),
      path: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 1, max: LONGEST_URL - 25 }) },
        fc.integer({ min: 1, max: 15_000 }),
      ),
    })
    .map((drawn) => ({ ...drawn, document: () => documentOf(drawn) }));

function documentOf({ family, place: [open, close], long, short, bytes, namespace, path }: Drawn) {
  const declared = `xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:p="${'u'.repeat(namespace)}"`;
  const make = (index: number) => FAMILIES[family]!(index, 'n'.repeat(long), 's'.repeat(short));
  const count = Math.max(1, Math.floor(bytes / Buffer.byteLength(make(99_999))));
  const inner = Array.from({ length: count }, (_, index) => make(index)).join('');
  const body = `<multistatus ${declared}>${open}${inner}${close}</multistatus>`;
  return { body, path: `/${'b'.repeat(path)}/` };
}
