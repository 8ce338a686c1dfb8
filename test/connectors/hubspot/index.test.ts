import { describe, expect, test } from 'vitest';
import { hubspot } from '../../../src/connectors/hubspot/index.ts';
import type { StreamName } from '../../../src/core/model/items.ts';

const DEFAULTS = hubspot.settingsSchema.parse({});
const CUSTOM = hubspot.settingsSchema.parse({ object: '2-3465404' });
const SUBSCRIBED = hubspot.settingsSchema.parse({
  subscriptions: [{ property: 'newsletter', subscription: 7, legalBasis: 'NON_GDPR' }],
});

/** Returns the kinds of objects, except contacts, whose scopes are required. */
function scopedKinds(settings: typeof DEFAULTS, stream: StreamName): string[] {
  const scopes = hubspot.neededScopes(settings, stream);
  const kinds = scopes
    .map((scope) => /^crm\.(?:objects|schemas)\.(\w+)|^\w+/.exec(scope))
    .map((found) => found?.[1] ?? found?.[0]);
  return [...new Set(kinds)].filter((kind): kind is string => kind !== undefined && kind !== 'contacts');
}

describe('the scopes of HubSpot', () => {
  test('are those of contacts with every stream, since all records belong to contacts', () => {
    for (const settings of [DEFAULTS, CUSTOM, SUBSCRIBED]) {
      for (const stream of hubspot.streams) {
        expect(hubspot.neededScopes(settings, stream as StreamName), stream).toEqual(
          expect.arrayContaining([
            'crm.objects.contacts.read',
            'crm.objects.contacts.write',
            'crm.schemas.contacts.write',
          ]),
        );
      }
    }
  });

  test.each([
    ['only of contacts for patients', DEFAULTS, 'patients', []],
    ['only of contacts for meetings, which need no further scope', DEFAULTS, 'appointments', []],
    ['of deals too for invoices', DEFAULTS, 'invoices', ['deals']],
    ['of custom objects instead of meetings', CUSTOM, 'appointments', ['custom']],
    ['of custom objects instead of deals', CUSTOM, 'invoices', ['custom']],
    ['only of contacts for patients, regardless of the object in the settings', CUSTOM, 'patients', []],
    [
      'of subscriptions too for patients whose consents are written',
      SUBSCRIBED,
      'patients',
      ['communication_preferences'],
    ],
    ['of no subscriptions for appointments', SUBSCRIBED, 'appointments', []],
  ] as const)('are those %s', (_, settings, stream, kinds) => {
    expect(scopedKinds(settings, stream)).toEqual(kinds);
  });

  test('of subscriptions include statuses in batches', () => {
    expect(hubspot.neededScopes(SUBSCRIBED, 'patients')).toContain('communication_preferences.statuses.batch.write');
  });
});

describe('the keys of HubSpot', () => {
  test('are enforced of contacts, deals and custom objects', () => {
    for (const stream of ['patients', 'invoices'] as const) expect(hubspot.keysOf!(DEFAULTS, stream)).toBe('enforced');
    for (const stream of hubspot.streams) expect(hubspot.keysOf!(CUSTOM, stream as StreamName)).toBe('enforced');
  });

  test('of meetings are found by a search, after its delay', () => {
    const settings = hubspot.settingsSchema.parse({ searchLagSeconds: 90 });
    expect(hubspot.keysOf!(settings, 'appointments')).toEqual({ lookedUp: { lagMs: 90_000 } });
  });
});
