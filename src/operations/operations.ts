import { ACCESS_OPERATIONS } from './access.ts';
import { AUDIT_LOG_OPERATIONS } from './audit-log.ts';
import { CONFIGURATION_OPERATIONS } from './configurations.ts';
import { CYCLE_OPERATIONS } from './cycles.ts';
import { FEED_OPERATIONS } from './feeds.ts';
import { HOLD_OPERATIONS } from './holds.ts';
import { LOGIN_OPERATIONS } from './logins.ts';
import { MATCH_OPERATIONS, PEOPLE_OPERATIONS } from './people.ts';
import { RECORD_OPERATIONS } from './records.ts';
import { REMINDER_OPERATIONS } from './reminders.ts';
import { RUN_OPERATIONS } from './runs.ts';
import { TENANT_OPERATIONS } from './tenants.ts';
import { TRIGGER_OPERATIONS } from './triggers.ts';

/** Every operation by its name: one word in camel case. */
export const OPERATIONS = {
  ...TENANT_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...LOGIN_OPERATIONS,
  ...CONFIGURATION_OPERATIONS,
  ...ACCESS_OPERATIONS,
  ...CYCLE_OPERATIONS,
  ...RUN_OPERATIONS,
  ...HOLD_OPERATIONS,
  ...REMINDER_OPERATIONS,
  ...TRIGGER_OPERATIONS,
  ...FEED_OPERATIONS,
  ...MATCH_OPERATIONS,
  ...PEOPLE_OPERATIONS,
  ...AUDIT_LOG_OPERATIONS,
};
/** Name of an operation. */
export type OperationName = keyof typeof OPERATIONS;
