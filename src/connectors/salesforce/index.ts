import type { CrmItem } from '../../core/model/items.ts';
import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { BATCH_SIZE, CONCURRENCY, REFUSALS } from './limits.ts';
import { type SalesforceSettings, settingsSchema } from './schemas.ts';

/** Connector for Salesforce's REST API: contacts or person accounts, events and opportunities of an org, or custom objects. */
export const salesforce: ConnectorModule<SalesforceSettings, CrmItem> = {
  name: 'salesforce',
  vendor: 'Salesforce',
  streams: ['patients', 'appointments', 'invoices'],
  holds: 'objects',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    revivesKeys: true,
    keys: 'enforced',
    duplicatesAreOurs: false,
    erases: [],
  },
  erasesOf: ({ emptyBin }) => (emptyBin ? ['patients', 'appointments', 'invoices'] : []),
  refusals: (_settings, stream) => (stream === 'patients' ? REFUSALS : []),
  connectionKinds: ['salesforce', 'salesforce-app'],
  neededScopes: () => ['api', 'refresh_token'],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openSalesforce,
    notifies: false,
    hasPages: () => true,
    hasContacts: () => true,
  }),
};
