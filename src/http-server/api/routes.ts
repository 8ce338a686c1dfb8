import { OPERATION_ROUTES } from './operation-routes.ts';
import type { Route } from './route.ts';
import { AUDIT_LOG_ROUTES } from './routes/audit-log.ts';

import { RECORD_ROUTES } from './routes/records.ts';
import { TENANT_ROUTES } from './routes/tenants.ts';

/** Every route of the API. */
export const ROUTES: readonly Route[] = [
  ...[...TENANT_ROUTES, ...RECORD_ROUTES],
  ...OPERATION_ROUTES,
  ...[...AUDIT_LOG_ROUTES],
];
