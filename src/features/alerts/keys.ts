import { ofInstallation } from '../../state/keys.ts';

/**
 * Keys of alerts in Redis. For terms and lifetimes, see `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{clinic-mirror}:alerts`          | hash   | while configured  | alerts            | alerts, status        |
 */
export const alertKeys = {
  alerts: ofInstallation('alerts'),
} as const;
