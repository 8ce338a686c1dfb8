import type { CrmItem, StreamName } from '../../core/model/items.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY } from './limits.ts';
import { type HubSpotSettings, settingsSchema } from './schemas.ts';

/**
 * Scopes of all streams: contacts are written or found, and missing properties of clinic-mirror are created. Meetings use the scopes of
 * contacts.
 */
const CONTACT_SCOPES = [
  'crm.objects.contacts.read',
  'crm.objects.contacts.write',
  'crm.schemas.contacts.write',
] as const;

/** Scopes of deals (developers.hubspot.com, scopes). */
const DEAL_SCOPES = ['crm.objects.deals.read', 'crm.objects.deals.write', 'crm.schemas.deals.write'] as const;

/** Scopes of custom objects. */
const CUSTOM_SCOPES = ['crm.objects.custom.read', 'crm.objects.custom.write', 'crm.schemas.custom.write'] as const;

/**
 * Scopes of subscriptions: the list of types, and statuses in batches.
 * @see https://developers.hubspot.com/docs/api-reference/latest/communication-preferences/guide
 */
const SUBSCRIPTION_SCOPES = [
  'communication_preferences.read_write',
  'communication_preferences.statuses.batch.read',
  'communication_preferences.statuses.batch.write',
] as const;

/** Connector for HubSpot's CRM: patients as contacts, appointments as their meetings, invoices as deals, or custom objects instead. */
export const hubspot: ConnectorModule<HubSpotSettings, CrmItem> = {
  name: 'hubspot',
  vendor: 'HubSpot',
  streams: ['patients', 'appointments', 'invoices'],
  holds: 'objects',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    // A deleted object frees its key, and an upsert creates a new object with the key.
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: false,
    // Meetings and deals stay in HubSpot's recycle bin for 90 days without content.
    erases: ['patients'],
  },
  // HubSpot does not document unique keys for meetings.
  keysOf: ({ object, searchLagSeconds }, stream) =>
    stream === 'appointments' && object === undefined
      ? { lookedUp: { lagMs: searchLagSeconds * SECOND_MS } }
      : 'enforced',
  connectionKinds: ['hubspot', 'bearer'],
  neededScopes: (settings, stream) => [...CONTACT_SCOPES, ...ownScopes(settings, stream)],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openHubSpot,
    notifies: false,
    hasPages: () => true,
    hasContacts: () => 'holders',
  }),
};

function ownScopes({ object, subscriptions }: HubSpotSettings, stream: StreamName): readonly string[] {
  if (stream === 'patients') return subscriptions.length > 0 ? SUBSCRIPTION_SCOPES : [];
  if (object !== undefined) return CUSTOM_SCOPES;
  return stream === 'invoices' ? DEAL_SCOPES : [];
}
