import { expect, test } from 'vitest';
import { checkTenantReferences, type DefinedNames } from '../../src/settings/cross-checks.ts';
import { tenantWith } from './crm-file.ts';

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

/** Targets that are said to write what another one writes. */
function twins(one: string, other: string): string[] {
  const target = (name: string, lines: string) => `  ${name}: { connector: hubspot, connection: crm, ${lines} }\n`;
  const faults = checkTenantReferences(tenantWith(target('one', one) + target('other', other)), KNOWN);
  return faults.filter(({ message }) => message.includes('into the same CRM')).map(({ path }) => path);
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
