import type { CrmItem } from '../../model/items.ts';
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

/** HubSpot's CRM: patients as contacts, appointments as meetings of theirs, invoices as deals. */
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
    twinsAreOurs: false,
    // Meetings and deals stay in HubSpot's bin for 90 days, emptied.
    erases: ['patients'],
  },
  connectionKinds: ['hubspot', 'bearer'],
  neededScopes: (_settings, stream) => [...CONTACT_SCOPES, ...(stream === 'invoices' ? DEAL_SCOPES : [])],
  settingsSchema,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openHubSpot,
    locates: () => false,
    notifies: false,
  }),
};
