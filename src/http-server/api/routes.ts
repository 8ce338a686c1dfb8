import type { Route } from './route.ts';
import { AUDIT_LOG_ROUTES } from './routes/audit-log.ts';
import { CONFIGURATION_ROUTES } from './routes/configuration.ts';
import { HOLD_ROUTES } from './routes/holds.ts';
import { PEOPLE_ROUTES } from './routes/people.ts';
import { PLAN_ROUTES } from './routes/plans.ts';
import { RECORD_ROUTES } from './routes/records.ts';
import { REMINDER_ROUTES } from './routes/reminders.ts';
import { RUN_ROUTES } from './routes/runs.ts';
import { TENANT_ROUTES } from './routes/tenants.ts';

/** Every route of the API. */
export const ROUTES: readonly Route[] = [
  ...[...TENANT_ROUTES, ...RECORD_ROUTES, ...PLAN_ROUTES, ...RUN_ROUTES],
  ...CONFIGURATION_ROUTES,
  ...[...HOLD_ROUTES, ...REMINDER_ROUTES, ...PEOPLE_ROUTES, ...AUDIT_LOG_ROUTES],
];
