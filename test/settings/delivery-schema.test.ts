import { describe, expect, test } from 'vitest';
import { clinicScopes } from '../../src/daemon/connections.ts';
import { signingSecret } from '../features/reminders/channels/bed.ts';
import { ENV, faultLines, load, TENANT, writeConfiguration } from './configuration-directory.ts';

const TRIGGERS = `
triggers:
  endpoints:
    portal: { url: "https://portal.example/in", secrets: [{ env: TENANT_UNO__HOOK }], events: [report.available, invoice.issued] }
`;
const options = { env: { ...ENV, TENANT_UNO__HOOK: signingSecret('a'), TENANT_UNO__PLAIN: 'not a signing secret' } };
const written = (triggers: string) => writeConfiguration({ 'tenants/uno.yaml': TENANT + triggers });
const read = (triggers: string) => load(written(triggers), options).tenants.get('uno');

describe('triggers of a tenant', () => {
  test('are off unless the file contains them', () => {
    expect(read('')?.triggers).toBeUndefined();
  });

  test('are read every ten minutes, and never show their secrets', () => {
    const triggers = read(TRIGGERS)?.triggers;
    expect(triggers).toMatchObject({ everyMinutes: 10, mostAtOnce: 200 });
    const portal = triggers?.endpoints.get('portal');
    expect(portal).toMatchObject({ events: ['report.available', 'invoice.issued'] });
    expect(JSON.stringify(portal)).not.toContain('whsec_');
  });

  test.each([
    ['http on the internet', 'https://portal', 'http://portal', 'https URL'],
    ['a secret that is none', 'env: TENANT_UNO__HOOK', 'env: TENANT_UNO__PLAIN', 'whsec_'],
    ['no secret', '[{ env: TENANT_UNO__HOOK }]', '[]', 'secrets'],
    ['an event that is not there', 'invoice.issued', 'invoice.paid', 'events'],
    ['an event twice', 'invoice.issued', 'report.available', 'list each element only once'],
    ['no event', '[report.available, invoice.issued]', '[]', 'events'],
    ['no endpoint', TRIGGERS.slice(TRIGGERS.indexOf('endpoints:')), 'endpoints: {}\n', 'add at least one element'],
    ['an unknown key', 'events:', 'fields: [text], events:', 'fields'],
  ])('are refused with %s', (_, sound, broken, told) => {
    expect(faultLines(written(TRIGGERS.replace(sound, broken)), options).join('\n')).toContain(told);
  });

  test('are refused if one URL receives the same event under two names', () => {
    const again =
      '    twin: { url: "https://portal.example/in", secrets: [{ env: TENANT_UNO__HOOK }], events: [invoice.issued] }\n';
    const [fault, ...others] = faultLines(written(TRIGGERS + again), options);
    expect(fault).toContain('triggers.endpoints.twin: has the same URL and the same events as the endpoint portal');
    expect(others).toEqual([]);
    const apart = TRIGGERS.replace('[report.available, invoice.issued]', '[report.available]');
    expect(load(written(apart + again), options).tenants.get('uno')?.triggers?.endpoints.size).toBe(2);
  });
});

describe('the sign-in to the clinic requests scopes', () => {
  const asked = (triggers: string) => {
    const tenant = read(triggers);
    if (tenant === undefined) throw new Error('no tenant');
    return clinicScopes(tenant, '').filter((scope) => ['medicalreports', 'invoices'].includes(scope));
  };
  test('for neither reports nor invoices without triggers', () => expect(asked('')).toEqual([]));
  test('for the events of endpoints, and no others', () => {
    expect(asked(TRIGGERS)).toEqual(['medicalreports', 'invoices']);
    expect(asked(TRIGGERS.replace(', invoice.issued', ''))).toEqual(['medicalreports']);
    expect(asked(TRIGGERS.replace('report.available, ', ''))).toEqual(['invoices']);
  });
});
