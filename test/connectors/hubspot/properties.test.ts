import { describe, expect, test } from 'vitest';
import { hubspot } from '../../../src/connectors/hubspot/index.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { PropertyKind } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { CONTACT, contact, KEY, NO_SIGNAL, rejection, STAMP, startWorld, tokenAuthorizer } from './support.ts';

describe('the preparation of a target', () => {
  test('creates the two properties of clinic-mirror once, in a separate group', async () => {
    const { sandbox, open } = await startWorld();
    const target = open();
    expect(await containerOf(target.connector, null, NO_SIGNAL)).toBe(`${sandbox.portalId}/contacts`);
    const own = sandbox.properties('contacts').filter(({ groupName }) => groupName === 'clinic_mirror');
    expect(own.map(({ name, hasUniqueValue }) => [name, hasUniqueValue])).toEqual([
      [KEY, true],
      [STAMP, false],
    ]);
    const posts = () => sandbox.requests.snapshot().requests.filter(({ method }) => method === 'POST');
    const before = posts();
    await containerOf(open().connector, target.container, NO_SIGNAL);
    expect(posts()).toEqual(before);
  });

  test('by several workers at once makes each property once', async () => {
    const { sandbox, open } = await startWorld();
    const prepared = await Promise.all([1, 2, 3].map(() => containerOf(open().connector, null, NO_SIGNAL)));
    expect(new Set(prepared).size).toBe(1);
    expect(sandbox.properties('contacts').filter(({ name }) => name === KEY || name === STAMP)).toHaveLength(2);
  });

  test('creates the key of contacts for their meetings and deals', async () => {
    const { sandbox, open } = await startWorld();
    const container = await containerOf(open({ stream: 'invoices' }).connector, null, NO_SIGNAL);
    expect(container).toBe(`${sandbox.portalId}/deals`);
    expect(sandbox.properties('contacts').find(({ name }) => name === KEY)?.hasUniqueValue).toBe(true);
    expect(sandbox.properties('deals').filter(({ name }) => name === KEY || name === STAMP)).toHaveLength(2);
  });

  test('uses the names in the settings', async () => {
    const world = await startWorld();
    const settings = { keyProperty: 'patient_key', stampProperty: 'patient_stamp', propertyGroup: 'patients' };
    const target = await world.target({ settings });
    await target.write(target.create('a', contact()));
    const [record] = world.sandbox.records('contacts');
    expect(record?.properties.patient_key).toBe(target.identity.key('a', 0));
    expect(await target.readAll()).toHaveLength(1);
  });

  test('gives another container for another account', async () => {
    const worlds = [await startWorld({ portalId: 11 }), await startWorld({ portalId: 12 })];
    const containers = await Promise.all(
      worlds.map(({ open }) => containerOf(open().connector, '11/contacts', NO_SIGNAL)),
    );
    expect(containers).toEqual(['11/contacts', '12/contacts']);
  });

  test.each([
    ['a key that is not unique', { name: KEY, type: 'string', fieldType: 'text' }, KEY],
    ['a stamp that is no text', { name: STAMP, type: 'number', fieldType: 'number' }, STAMP],
  ])('refuses %s', async (_what, property, named) => {
    const { sandbox, open } = await startWorld();
    sandbox.createProperty('contacts', { label: 'By hand', ...property });
    const error = await rejection(containerOf(open().connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'settings', code: 'property-unsuitable' });
    expect(error.message).toContain(named);
  });

  test('reports when HubSpot allows no further unique property', async () => {
    const { sandbox, open } = await startWorld();
    for (let index = 0; index < 10; index += 1) {
      const property = { label: 'Taken', type: 'string', fieldType: 'text', hasUniqueValue: true };
      sandbox.createProperty('contacts', { name: `unique_${index}`, ...property });
    }
    const error = await rejection(containerOf(open().connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'settings', code: 'property-not-made' });
  });

  test('requires the stream of the target', async () => {
    const connector = hubspot.open({
      settings: hubspot.settingsSchema.parse({}),
      ownerTag: 'ownerTag',
      authorizer: tokenAuthorizer('token'),
      http: createHttpClient({ userAgent: 'test', clock: Date.now }),
      shared: new SharedState(),
      log: silentLogger,
      clock: Date.now,
    });
    const preparing = containerOf(connector, null, new AbortController().signal);
    await expect(preparing).rejects.toMatchObject({ actor: 'settings', code: 'crm-part-missing' });
  });
});

describe('the mapping', () => {
  const check = async (name: string, kind: PropertyKind) => {
    const { sandbox, open } = await startWorld();
    sandbox.createProperty('contacts', { name: 'visits', label: 'Visits', type: 'number', fieldType: 'number' });
    sandbox.createProperty('contacts', { name: 'born', label: 'Born', type: 'date', fieldType: 'date' });
    sandbox.createProperty('contacts', { name: 'seen', label: 'Seen', type: 'datetime', fieldType: 'date' });
    sandbox.createProperty('contacts', { name: 'vip', label: 'Vip', type: 'bool', fieldType: 'booleancheckbox' });
    return containerOf(open({ properties: [...CONTACT, { name, kind }] }).connector, null, NO_SIGNAL);
  };

  test.each([
    ['no_such_property', 'text', 'crm-property-missing'],
    ['hs_object_id', 'number', 'property-read-only'],
    ['visits', 'text', 'property-unsuitable'],
    ['visits', 'boolean', 'property-unsuitable'],
    ['born', 'instant', 'property-unsuitable'],
    ['seen', 'number', 'property-unsuitable'],
    ['vip', 'text', 'property-unsuitable'],
    ['lifecyclestage', 'boolean', 'property-unsuitable'],
    [KEY, 'text', 'property-unsuitable'],
  ] as const)('to %s of kind %s is refused as %s', async (name, kind, code) => {
    const error = await rejection(check(name, kind));
    expect(error).toMatchObject({ actor: 'settings', code, retry: 'never' });
    expect(error.message).toContain(name);
    expect(error.remedy).toBeDefined();
  });

  test.each([
    ['visits', 'number'],
    ['born', 'date'],
    ['seen', 'date'],
    ['seen', 'instant'],
    ['vip', 'boolean'],
    ['date_of_birth', 'date'],
    ['lifecyclestage', 'text'],
  ] as const)('to %s of kind %s is taken', async (name, kind) => {
    await expect(check(name, kind)).resolves.toContain('/contacts');
  });

  test('to a sensitive property needs its permission', async () => {
    const { sandbox, open } = await startWorld({ sensitiveData: true });
    const property = { name: 'allergy', label: 'Allergy', type: 'string', fieldType: 'text' };
    sandbox.createProperty('contacts', { ...property, dataSensitivity: 'sensitive' });
    sandbox.add('contacts', { firstname: 'Somebody' });
    const properties = [...CONTACT, { name: 'allergy', kind: 'text' }] as const;
    const error = await rejection(containerOf(open({ properties }).connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'authorization', code: 'scope-missing' });
    expect(error.message).toContain('allergy');
    const plain = ['crm.objects.contacts.read', 'crm.objects.contacts.write', 'crm.schemas.contacts.write'];
    const sensitive = ['crm.objects.contacts.sensitive.read', 'crm.objects.contacts.sensitive.write'];
    const token = sandbox.issuePrivateToken([...plain, ...sensitive]);
    await expect(containerOf(open({ properties, token }).connector, null, NO_SIGNAL)).resolves.toContain('/contacts');
  });

  test.each([400, 403])(
    'is refused for a property that is missing also where sensitive ones are not shown (%i)',
    async (status) => {
      const { sandbox, open } = await startWorld();
      sandbox.faults.add({ match: { path: 'dataSensitivity=' }, fault: { kind: 'status', status } });
      const target = open({ properties: [{ name: 'no_such_property', kind: 'text' }] });
      expect(await rejection(containerOf(target.connector, null, NO_SIGNAL))).toMatchObject({
        code: 'crm-property-missing',
      });
    },
  );

  test('without the permission to make properties, it must be given or they be made by hand', async () => {
    const { sandbox, open } = await startWorld();
    const token = sandbox.issuePrivateToken(['crm.objects.contacts.read', 'crm.objects.contacts.write']);
    const error = await rejection(containerOf(open({ token }).connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'authorization', code: 'scope-missing' });
    expect(error.message).toContain('crm.schemas.contacts.write');
    await containerOf(open().connector, null, NO_SIGNAL);
    await expect(containerOf(open({ token }).connector, null, NO_SIGNAL)).resolves.toContain('/contacts');
  });
});

describe('the settings', () => {
  test('have defaults for everything', () => {
    expect(hubspot.settingsSchema.parse({})).toEqual({
      apiUrl: 'https://api.hubapi.com',
      version: '2026-09',
      keyProperty: KEY,
      stampProperty: STAMP,
      propertyGroup: 'clinic_mirror',
      searchLagSeconds: 60,
      subscriptions: [],
    });
  });

  test.each([
    { version: 'v3' },
    { version: 'v4' },
    { version: '2026-10' },
    { keyProperty: 'Key' },
    { object: 'meetings' },
    { apiUrl: 'http://api.hubapi.com' },
    { subscriptions: [{ property: 'newsletter', subscription: 1 }] },
    { subscriptions: [{ property: 'newsletter', subscription: 1, legalBasis: 'CONSENT_WITH_NOTICE' }] },
    { noSuchSetting: 1 },
  ])('refuse %o', (settings) => {
    expect(hubspot.settingsSchema.safeParse(settings).success).toBe(false);
  });
});
