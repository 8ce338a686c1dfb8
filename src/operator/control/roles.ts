/** Roles of a daemon process. An installation needs at least one process for each role. */
export const ROLES = ['all', 'scheduler', 'worker', 'http'] as const;

/**
 * - `scheduler`: queues the work of each tenant on time, and deletes data removed from the configuration
 * - `worker`: does the work
 * - `http`: receives grants, notifications, reports and answers of patients
 * - `all`: all roles
 *
 * Each role answers probes and metrics.
 */
export type Role = (typeof ROLES)[number];

/** Returns whether a process with a role does a part of the work. */
export function does(role: Role, part: Exclude<Role, 'all'>): boolean {
  return role === 'all' || role === part;
}
