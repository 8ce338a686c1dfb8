import type { CrmItem, StreamName } from '../../model/items.ts';
import { SECOND_MS } from '../../model/time.ts';
import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY } from './limits.ts';
import { type HubSpotSettings, settingsSchema } from './schemas.ts';

/**
 * What every stream needs: contacts are written, or found to belong to, and our properties are made where they are absent. Meetings
 * go by the scopes of contacts.
 */
const CONTACT_SCOPES = [
  'crm.objects.contacts.read',
  'crm.objects.contacts.write',
  'crm.schemas.contacts.write',
] as const;

/** The same of deals (developers.hubspot.com, scopes). */
const DEAL_SCOPES = ['crm.objects.deals.read', 'crm.objects.deals.write', 'crm.schemas.deals.write'] as const;

/** The same of custom objects. */
const CUSTOM_SCOPES = ['crm.objects.custom.read', 'crm.objects.custom.write', 'crm.schemas.custom.write'] as const;

/**
 * What telling subscriptions needs: the list of types, and statuses in batches.
 * @see https://developers.hubspot.com/docs/api-reference/latest/communication-preferences/guide
 */
const SUBSCRIPTION_SCOPES = [
  'communication_preferences.read_write',
  'communication_preferences.statuses.batch.read',
  'communication_preferences.statuses.batch.write',
] as const;

/** HubSpot's CRM: patients as contacts, appointments as meetings of theirs, invoices as deals; or custom objects in place of the latter. */
export const hubspot: ConnectorModule<HubSpotSettings, CrmItem> = {
  name: 'hubspot',
  streams: ['patients', 'appointments', 'invoices'],
  holds: 'objects',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    createsContainer: false,
    // A deleted record frees its key, and an upsert makes a new one under it.
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: false,
    // Meetings and deals stay in HubSpot's bin for 90 days, emptied.
    erases: ['patients'],
  },
  // Of meetings HubSpot does not say that it holds keys unique.
  keysOf: ({ object, searchLagSeconds }, stream) =>
    stream === 'appointments' && object === undefined
      ? { lookedUp: { lagMs: searchLagSeconds * SECOND_MS } }
      : 'enforced',
  connectionKinds: ['hubspot', 'bearer'],
  neededScopes: (settings, stream) => [...CONTACT_SCOPES, ...ownScopes(settings, stream)],
  settingsSchema,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openHubSpot,
    locates: () => false,
    notifies: false,
    namesHolders: true,
    hasPages: () => true,
    knowsExisting: () => true,
  }),
};

function ownScopes({ object, subscriptions }: HubSpotSettings, stream: StreamName): readonly string[] {
  if (stream === 'patients') return subscriptions.length > 0 ? SUBSCRIPTION_SCOPES : [];
  if (object !== undefined) return CUSTOM_SCOPES;
  return stream === 'invoices' ? DEAL_SCOPES : [];
}
