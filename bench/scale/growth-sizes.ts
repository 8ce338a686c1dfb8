/** Sizes of one tenant, in appointments or targets, and of a daemon, in tenants. */
export const SIZES = {
  appointments: [1_000, 3_000, 10_000, 50_000, 100_000, 200_000, 300_000],
  targets: [1, 10, 60, 300, 500],
  tenants: [10, 100, 1_000, 5_000],
} as const;

/** Maximum cost per unit at the largest size, relative to `FROM`: at smaller sizes, the fixed cost of a cycle dominates. */
export const GOAL = 1.25;
export const FROM = { appointments: 10_000, targets: 60, tenants: 100 } as const;
