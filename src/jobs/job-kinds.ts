import type { z } from 'zod';

/**
 * Kinds of jobs by name, each with the schema of its data. Every kind has a queue. Data contains ids, never content. New fields must be
 * optional, because a queue may contain jobs of the previous version.
 */
export type JobKinds = Readonly<Record<string, JobKind>>;

/** One kind of jobs. */
export interface JobKind {
  data: z.ZodType<{ tenant: string }>;
}

/** Name of a kind, and of its queue. */
export type NameOf<Kinds extends JobKinds> = keyof Kinds & string;
export type DataOf<Kinds extends JobKinds, Name extends NameOf<Kinds>> = z.output<Kinds[Name]['data']>;

/** Returns whether a tenant's job has no work. If uncertain, the job runs. */
export type IsNeedless = (job: string, tenant: string) => Promise<boolean>;

/** For callers that run every job. */
export const neverNeedless: IsNeedless = async () => false;

/** Jobs of a schedule: their kind, and their data in addition to the tenant. */
export interface ScheduledJob {
  job: string;
  data?: Readonly<Record<string, unknown>>;
}

/** Schedules by name. Several schedules may share a kind, because each kind costs every process a connection. */
export type Schedules = Readonly<Record<string, ScheduledJob>>;
