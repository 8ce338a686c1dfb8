import { describe, expect, onTestFinished, test } from 'vitest';
import { startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { expectedState } from './expected.ts';
import { startHubSpotSide } from './hubspot.ts';
import { judge } from './judge.ts';
import { startSalesforceSide } from './salesforce.ts';

async function useClinic() {
  const clinic = await startClinicSandbox({ tenants: [{ patients: 40 }], appointments: 80, agendas: 2 });
  onTestFinished(() => clinic.close());
  const clinicId = clinic.tenants[0]?.id ?? '';
  for (const [index, { id, lastName, email, details }] of [...clinic.patients(clinicId)].entries()) {
    const granted = index < FAMILY + TWINS || index % WITHOUT_CONSENT_EVERY !== 0;
    clinic.plant(clinicId, 'patients', id, {
      lastName: `${lastName} ${index}`,
      email: index < FAMILY ? 'family@example.com' : index < FAMILY + TWINS ? `twin.${index}@example.com` : email,
      consents: { ...details.consents, privacy: { granted, date: null } },
    });
  }
  return { clinic, clinicId };
}

/** The first patients share an address; the next ones have namesakes in the CRM, which users created. */
const [FAMILY, TWINS, WITHOUT_CONSENT_EVERY] = [4, 4, 10];

/** A CRM with four contacts that people made for patients of a clinic. */
async function useSide(start: typeof startHubSpotSide) {
  const { clinic, clinicId } = await useClinic();
  const side = await start(startFaultProxy, 'studio');
  onTestFinished(() => side.close());
  side.addStrangers([...clinic.patients(clinicId)].slice(FAMILY, FAMILY + TWINS));
  const rules = { oneOwner: side.oneOwner, ofStrangers: side.strangersAddresses() };
  const expected = expectedState(clinic, clinicId, [Date.now()], rules);
  return { clinic, clinicId, side, expected };
}

/** Calls an API through the proxy, as the daemon does. */
async function call<Answer>(url: string, token: string, body: object, method = 'POST'): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
  expect(answer.status).toBeLessThan(300);
  return (await answer.json().catch(() => null)) as Answer;
}

describe('records in HubSpot', () => {
  test('are read as the API writes them: a managed contact, one without a key, an activity and its owner', async () => {
    const { side, expected } = await useSide(startHubSpotSide);
    const crm = (path: string, body: object) =>
      call<{ id: string }>(
        `${side.proxy.url}/crm/v3/objects/${path}`,
        side.env.TENANT_STUDIO__HUBSPOT_TOKEN ?? '',
        body,
      );
    const group = { groupName: 'contactinformation', type: 'string', fieldType: 'text' };
    const key = { name: 'clinic_mirror_key', label: 'Key', hasUniqueValue: true, ...group };
    const token = side.env.TENANT_STUDIO__HUBSPOT_TOKEN ?? '';
    await call(`${side.proxy.url}/crm/v3/properties/contacts`, token, key);
    await call(`${side.proxy.url}/crm/v3/properties/meetings`, token, {
      ...key,
      groupName: 'meetinginformation',
      hasUniqueValue: false,
    });
    const lastname = expected.contacts[20]?.identity ?? '';
    const contact = await crm('contacts', { properties: { lastname, clinic_mirror_key: 'k1' } });
    await crm('contacts', { properties: { lastname, firstname: 'Nobody' } });
    const meeting = { hs_timestamp: '2026-03-10T10:00:00Z', hs_meeting_start_time: '2026-03-10T10:00:00Z' };
    const { id } = await crm('meetings', { properties: { ...meeting, clinic_mirror_key: 'k2' } });
    const joined = `${side.proxy.url}/crm/v4/objects/meetings/${id}/associations/default/contacts/${contact.id}`;
    await call(joined, token, {}, 'PUT');

    const holdings = side.holdings();
    expect(holdings.contacts.map(({ isOurs }) => isOurs)).toEqual([false, false, false, false, true, false]);
    expect(holdings.activities.at(-1)).toMatchObject({
      isOurs: true,
      values: { startAt: '2026-03-10T10:00:00.000Z', endAt: null },
      contactIds: [`contacts ${contact.id}`],
    });
    const { contacts, strangers } = judge(holdings, expected);
    expect([contacts.wrong, contacts.duplicates, strangers]).toEqual([2, 1, { records: 5, changed: 0 }]);
  });

  test("show every change of a stranger's contact, and of an activity associated with it", async () => {
    const { side, expected } = await useSide(startHubSpotSide);
    const token = side.env.TENANT_STUDIO__HUBSPOT_TOKEN ?? '';
    const objects = `${side.proxy.url}/crm/v3/objects`;
    const ids = side.holdings().contacts.map(({ id }) => id.split(' ')[1]);
    const changed = () => judge(side.holdings(), expected).strangers.changed;
    expect(changed()).toBe(0);
    await call(`${objects}/contacts/${ids[0]}`, token, { properties: { phone: '+39 333 1' } }, 'PATCH');
    expect(changed()).toBe(1);
    const { id } = await call<{ id: string }>(`${objects}/meetings`, token, { properties: { hs_timestamp: '0' } });
    await call(
      `${side.proxy.url}/crm/v4/objects/meetings/${id}/associations/default/contacts/${ids[1]}`,
      token,
      {},
      'PUT',
    );
    expect(changed()).toBe(2);
  });
});

describe('records in Salesforce', () => {
  test('are read as the API writes them at the URL that comes with the token', async () => {
    const { side, expected } = await useSide(startSalesforceSide);
    const { main } = side.settings.salesforceClients as Record<string, { loginUrl: string; clientId: string }>;
    const form = {
      grant_type: 'client_credentials',
      client_id: main?.clientId ?? '',
      client_secret: side.env.SALESFORCE_SECRET ?? '',
    };
    const answer = await fetch(`${main?.loginUrl}/services/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const login = (await answer.json()) as { access_token: string; instance_url: string };
    expect(login.instance_url).toBe(side.proxy.url);
    const contact = { attributes: { type: 'Contact' }, LastName: expected.contacts[20]?.identity, Clinic_Key__c: 'k1' };
    const url = '/services/data/v68.0/composite/sobjects';
    const part = { method: 'POST', url, referenceId: 'one', body: { allOrNone: false, records: [contact] } };
    const composite = `${login.instance_url}/services/data/v68.0/composite`;
    await call(composite, login.access_token, { allOrNone: false, compositeRequest: [part] });

    const { contacts, strangers } = judge(side.holdings(), { ...expected, activities: [] });
    expect([contacts.wrong, contacts.duplicates, strangers]).toEqual([1, 0, { records: 4, changed: 0 }]);
  });
});
