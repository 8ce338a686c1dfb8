/** What a process of the daemon does; an installation needs each part in one process at least. */
export const ROLES = ['all', 'scheduler', 'worker', 'http'] as const;

/**
 * - `scheduler`: puts every tenant's work into the queues in its time, and lets go of what was taken out of the configuration;
 * - `worker`: does the work;
 * - `http`: takes logins, notifications, reports and answers of patients;
 * - `all`: all of it.
 *
 * Each answers probes and metrics.
 */
export type Role = (typeof ROLES)[number];

/** Whether a process of a role does a part of the work. */
export function does(role: Role, part: Exclude<Role, 'all'>): boolean {
  return role === 'all' || role === part;
}
