import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { connectors } from '../../src/connectors/registry.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import { checkTenantReferences, type DefinedNames } from '../../src/settings/cross-checks.ts';
import { faultLines, load, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';
import { faultsOf, tenantWith } from './crm-file.ts';

const KNOWN: DefinedNames = {
  clinicClients: null,
  vendorClients: null,
  connectors: new Map(),
  reminderChannels: new Map(),
  outbound: null,
  publicUrl: undefined,
  consents: () => null,
  links: () => null,
};

/** Returns targets reported to write the same objects as another target. */
function twins(one: string, other: string): string[] {
  const target = (name: string, lines: string) => `  ${name}: { connector: hubspot, connection: crm, ${lines} }\n`;
  const faults = atOnce(checkTenantReferences(tenantWith(target('one', one) + target('other', other)), KNOWN));
  return faults.filter(({ message }) => message.includes('to the same CRM')).map(({ path }) => path);
}

test.each([
  ['the same contacts twice', 'crm: { mapping: { a: email } }', 'crm: { mapping: { b: phone } }'],
  [
    'appointments of an agenda twice',
    'agendas: [a1, a2], crm: { stream: appointments }',
    'agendas: [a2], crm: { stream: appointments }',
  ],
  ['appointments of all agendas', 'crm: { stream: appointments }', 'agendas: [a2], crm: { stream: appointments }'],
])('%s is refused', (_, one, other) => {
  expect(twins(one, other)).toEqual(['targets.other']);
});

test.each([
  ['contacts and activities', 'crm: { stream: patients }', 'crm: { stream: appointments }'],
  ['agendas apart', 'agendas: [a1], crm: { stream: appointments }', 'agendas: [a2], crm: { stream: appointments }'],
  ['another kind of object', 'settings: { object: Lead }, crm: {}', 'settings: { object: Contact }, crm: {}'],
])('%s go', (_, one, other) => {
  expect(twins(one, other)).toEqual([]);
});

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/crm.md'), 'utf8');
const SAMPLE = /```yaml\n([\s\S]*?)```/.exec(GUIDE)?.[1] ?? '';

test('the targets of the guide are without faults, unchanged', () => {
  const { connections, targets } = parse(SAMPLE) as {
    connections: object;
    targets: Record<string, { settings: object }>;
  };
  const lines = (value: object) => stringify(value).replaceAll(/^/gm, '  ');
  const file = tenantWith(`${lines(targets)}\nconnections:\n${lines(connections)}`);
  expect(Object.keys(targets)).toEqual(['contacts', 'visits']);
  for (const [id, { settings }] of Object.entries(targets)) {
    expect(faultsOf(file, id)).toEqual([]);
    expect(connectors.get('hubspot')?.settingsSchema.safeParse(settings).success).toBe(true);
  }
  const known = {
    clinicClients: null,
    vendorClients: null,
    connectors,
    reminderChannels: new Map(),
    outbound: null,
    publicUrl: undefined,
    consents: () => ['marketing'],
    links: () => null,
  };
  expect(atOnce(checkTenantReferences(file, known))).toEqual([]);
});

describe('references', () => {
  test.each([
    [
      'connector: calendar',
      'connector: calender',
      /connector: connector "calender" does not exist → did you mean calendar\?/,
    ],
    ['connection: work', 'connection: wrok', /connection: connection "wrok" does not exist → did you mean work\?/],
    ['connection: work', 'connection: clinic', /connection: the connection to the clinic cannot write to a target/],
    [
      'client: main, tenantId',
      'client: mian, tenantId',
      /clinic\.client: clinic client "mian" does not exist → did you mean main/,
    ],
    [
      'google, client: main',
      'google, client: other',
      /work\.client: Google client "other" does not exist → available: main/,
    ],
    ['  work:', '  clinic:', /connections\.clinic: the key is not allowed → choose another name/],
    ['kind: google, client: main', 'kind: gogle', /connections\.work\.kind: is not valid: "gogle" → allowed: google, /],
    ['calendar: a', 'calender: a', /settings\.calender: unknown key → did you mean calendar\?/],
    ['    settings: { calendar: a }', '', /settings\.calendar: is missing → add this setting: a string/],
    ['agendas: all', 'agendas: ["1", "1"]', /agendas: is not valid: a list → list each element only once/],
    ['agendas: all', 'agendas: [12]', /agendas\.0: is not valid: 12 → put the value in quotes/],
    ['agendas: all', 'agendas: []', /agendas: is not valid: a list → at least 1 element$/],
    ['agendas: all', 'agendas: al', /agendas: is not valid: "al" → /],
    [
      'agendas: all',
      'agendas: all\n    title: full',
      /title: the title full identifies the patient and requires a reason/,
    ],
    [
      'agendas: all',
      'agendas: all\n    titleFormat: "{treatment}: {title}"',
      /titleFormat: the title contains treatment, which fields does not allow → add treatment to fields/,
    ],
    [
      'agendas: all',
      'agendas: all\n    titleFormat: "{patient}"',
      /titleFormat: is not valid: .* → write text and \{title\}, \{location\}, \{agenda\}, \{treatment\}, \{status\}; text in \[brackets\]/,
    ],
    [
      'agendas: all',
      'agendas: all\n    tentative: [booked, no_show]',
      /tentative: no_show is in this list and also in free \(cancelled, no_show\) → keep each status in only one of the two lists/,
    ],
    [
      'agendas: all',
      'agendas: all\n    labels: [{ colour: red }, { category: Surgery }]',
      /labels\.0\.colour: calendar does not support this setting → set a category/,
    ],
    [
      'agendas: all',
      'agendas: all\n    labels: [{ statuses: [booked] }]',
      /labels\.0: is not valid: .* → set a colour or a category/,
    ],
    [
      'agendas: all',
      'agendas: all\n    reminderMinutes: none',
      /reminderMinutes: calendar does not support this setting → remove this setting: events have no reminders/,
    ],
    [
      'agendas: all',
      'agendas: all\n    links: [page, teleVisit]',
      /links: the clinic profile has no URL for page → set appointments\.pageUrl in the profile, or remove this setting/,
    ],
    ['zone: Europe/Rome', 'zone: "+01:00"', /zone: is not valid: "\+01:00" → set an IANA time zone/],
    [
      '{ kind: google, client: main }',
      '{ kind: microsoft, client: other }',
      /work\.client: Microsoft client "other" does not exist → none is defined; add the name to microsoftClients/,
    ],
    [
      '{ kind: google, client: main }',
      '{ kind: microsoft, client: other, directory: "a/b" }',
      /work\.directory: is not valid: "a\/b" → enter the id or a domain of the directory/,
    ],
  ])('must hold: %j written as %j', (from, to, expected) => {
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT.replace(from, to) }));
    expect(
      lines.some((line) => expected.test(line)),
      lines.join('\n'),
    ).toBe(true);
  });

  test('to a connection must fit the connector', () => {
    const connection = '{ kind: caldav, username: u, password: { env: TENANT_UNO__SECRET } }';
    const tenant = TENANT.replace('{ kind: google, client: main }', connection);
    expect(faultLines(writeConfiguration({ 'tenants/uno.yaml': tenant }))).toEqual([
      'tenants/uno.yaml:11 targets.rossi.connection: this connector does not support the connection work of the kind caldav ' +
        '→ choose a connection of the kind google or google-service-account',
    ]);
  });

  test('to a profile must hold', () => {
    const dir = writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace('profile: plain', 'profile: plian') });
    expect(faultLines(dir)[0]).toMatch(
      /clinicClients\.main\.profile: profile "plian" does not exist → did you mean plain\?/,
    );
  });

  test('twice to one calendar with a common agenda are refused; with different agendas they are allowed', () => {
    const twin = (agendas: string) =>
      `${TENANT}  verdi: { connector: calendar, connection: work, agendas: ${agendas}, settings: { calendar: a } }\n`;
    const common = faultLines(writeConfiguration({ 'tenants/uno.yaml': twin('["1"]') }));
    expect(common).toEqual([
      expect.stringMatching(/targets\.verdi: writes the same agendas to the same calendar as the target rossi/),
    ]);
    const apart = twin('["1"]').replace('agendas: all', 'agendas: ["2"]');
    expect(load(writeConfiguration({ 'tenants/uno.yaml': apart })).tenants.get('uno')?.targets.size).toBe(2);
  });

  describe('of two files without clinic names', () => {
    const unnamed = TENANT.replace(', tenantId: "7"', '');
    const withAgendas = (agendas: string) => unnamed.replace('agendas: all', `agendas: ${agendas}`);
    const owned = unnamed.replace(
      'client: main }\ntargets',
      'client: main, account: { address: a@b.example } }\ntargets',
    );
    test.each([
      ['the same agenda into the same calendar', withAgendas('["1", "2"]'), withAgendas('["2", "3"]')],
      ['every agenda into a calendar of the same account', owned, owned],
    ])('those that write %s are refused in the later file, with the other named', (_what, one, other) => {
      expect(faultLines(writeConfiguration({ 'tenants/uno.yaml': one, 'tenants/zwei.yaml': other }))).toEqual([
        expect.stringMatching(
          /^tenants\/zwei\.yaml:9 targets\.rossi: the tenant uno writes the same agendas to the same calendar → keep one file .*clinic\.tenantId/,
        ),
      ]);
    });

    test.each([
      ['other agendas', withAgendas('["1"]'), withAgendas('["2"]')],
      ['another calendar', withAgendas('["1"]'), withAgendas('["1"]').replace('calendar: a', 'calendar: b')],
      ['connections without an expected account', unnamed, unnamed],
      ['different clinics', withAgendas('["1"]'), TENANT.replace('agendas: all', 'agendas: ["1"]')],
    ])('those with %s are allowed', (_what, one, other) => {
      const { tenants } = load(writeConfiguration({ 'tenants/uno.yaml': one, 'tenants/zwei.yaml': other }));
      expect([...tenants.keys()]).toEqual(['uno', 'zwei']);
    });
  });

  test('of two tenant files to one clinic are refused in the later file', () => {
    expect(faultLines(writeConfiguration({ 'tenants/zwei.yaml': TENANT }))).toEqual([
      expect.stringMatching(/^tenants\/zwei\.yaml:5 clinic\.tenantId: the tenant uno is the same clinic →/),
    ]);
  });
});
