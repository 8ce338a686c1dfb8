import { ACCESS_OPERATIONS } from '../operator/operations/access.ts';
import { AUDIT_LOG_OPERATIONS } from '../operator/operations/audit-log.ts';
import { CYCLE_OPERATIONS } from '../operator/operations/cycles.ts';
import { LOGIN_OPERATIONS } from '../operator/operations/logins.ts';
import { RECORD_OPERATIONS } from '../operator/operations/records.ts';
import { TENANT_OPERATIONS } from '../operator/operations/tenants.ts';
import { BACKUP_OPERATIONS } from './backup/operations.ts';
import { FEED_OPERATIONS } from './feeds/operations.ts';
import { FORGET_OPERATIONS } from './forget/operations.ts';
import { HOLD_OPERATIONS } from './holds/operations.ts';
import { CONFIGURATION_OPERATIONS } from './managed-tenants/operations.ts';
import { MATCH_OPERATIONS } from './match/operations.ts';
import { REMINDER_OPERATIONS } from './reminders/operations.ts';
import { RETENTION_OPERATIONS } from './retention/operations.ts';
import { TRIGGER_OPERATIONS } from './triggers/operations.ts';
import { RUN_OPERATIONS } from './undo/operations.ts';

/** Every operation by name, in camel case. */
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
  ...RETENTION_OPERATIONS,
  ...MATCH_OPERATIONS,
  ...FORGET_OPERATIONS,
  ...BACKUP_OPERATIONS,
  ...AUDIT_LOG_OPERATIONS,
};
export type OperationName = keyof typeof OPERATIONS;
