import type { CrmItem } from '../../core/model/items.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import type { ConnectorModule } from '../connector.ts';
import { loadedLater } from '../loaded-later.ts';
import { erasedStreams, hasContacts } from './description.ts';
import { BATCH_SIZE, CONCURRENCY, SEARCH_LAG_SECONDS } from './limits.ts';
import { type RestCrmSettings, settingsSchema } from './schemas.ts';

/** Connector for any CRM with a REST API, configured by a description of the API's calls. */
export const restCrm: ConnectorModule<RestCrmSettings, CrmItem> = {
  name: 'rest-crm',
  vendor: 'CRM',
  streams: ['patients', 'appointments', 'invoices'],
  holds: 'objects',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: BATCH_SIZE,
    concurrency: CONCURRENCY,
    revivesKeys: true,
    keys: { lookedUp: { lagMs: SEARCH_LAG_SECONDS * SECOND_MS } },
    mayLoseNames: true,
    duplicatesAreOurs: false,
    erases: [],
  },
  keysOf: ({ searchLagSeconds }) => ({ lookedUp: { lagMs: searchLagSeconds * SECOND_MS } }),
  erasesOf: ({ description }) => erasedStreams(description),
  refusals: ({ description }, stream) => description.streams[stream]?.refusals ?? [],
  connectionKinds: ['bearer', 'api-key', 'basic', 'oauth'],
  neededScopes: () => [],
  settingsSchema,
  errors: async () => (await import('./errors.ts')).errors,
  open: loadedLater({
    load: async () => (await import('./connector.ts')).openRestCrm,
    notifies: false,
    hasPages: ({ description: { streams } }) => Object.values(streams).some((resource) => resource?.page !== undefined),
    hasContacts: ({ description: { streams } }) => streams.patients !== undefined && hasContacts(streams.patients),
  }),
};
