import { readFileSync } from 'node:fs';

/**
 * Returns the most memory that this process ever had resident, in bytes. `maxRSS` of Node also counts the process that forked this one, up to
 * its start (Linux keeps it over `exec`), so a child of a large process would seem large.
 */
export function peakBytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1_024;
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  if (kibibytes === undefined) throw new Error('/proc/self/status has no VmHWM');
  return Number(kibibytes) * 1_024;
}
