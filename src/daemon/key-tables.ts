import { clinicKeys } from '../domain/clinic-tenant.ts';
import { alertKeys } from '../features/alerts/keys.ts';
import { feedKeys } from '../features/feeds/keys.ts';
import { managedTenantKeys } from '../features/managed-tenants/keys.ts';
import { reminderKeys } from '../features/reminders/keys.ts';
import { triggerRedisKeys } from '../features/triggers/keys.ts';
import { controlKeys } from '../operator/control/keys.ts';
import { keyOwners, keys } from '../state/keys.ts';

/** All keys of an installation, by name. Release, measure and documents know the keys of these tables only. */
export const ALL_KEYS = {
  ...keys,
  ...clinicKeys,
  ...controlKeys,
  ...alertKeys,
  ...feedKeys,
  ...managedTenantKeys,
  ...reminderKeys,
  ...triggerRedisKeys,
} as const;

/** Owners of {@link ALL_KEYS}. */
export const KEY_OWNERS = keyOwners(ALL_KEYS);
