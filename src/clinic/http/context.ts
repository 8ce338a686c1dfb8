import type { Budget, HttpClient } from '../../http/client.ts';
import type { Logger } from '../../log/logger.ts';
import type { Clock } from '../../model/time.ts';
import type { ClinicProfile, CompiledProfile } from '../schema/profile.ts';
import type { ResourceName } from '../schema/resources.ts';
import type { PagingMemory } from './paging.ts';

/** Gives the Authorization header of the clinic login. Both throw an `authorization` MirrorError when a person must act. */
export interface ClinicAuthorization {
  /** The header's value, refreshed ahead of expiry. */
  header(signal: AbortSignal): Promise<string>;
  /** After a 401: forces one refresh and gives the new value. */
  renew(signal: AbortSignal): Promise<string>;
}

/** A write before it is sent, without the token. */
export interface PreparedWrite {
  method: string;
  /** Whole address. */
  url: string;
  /** Goes out as JSON; where a file goes with it, what is said of that. Null: nothing. */
  body: object | null;
  file: { name: string; sizeBytes: number } | null;
}

/** What the client works with. */
export interface ClinicContext {
  profile: ClinicProfile;
  /** Where it is written, from the configuration directory: what a refused call may have to be corrected in. */
  profileFile: string;
  /** What is made of that profile, for all who work under it. */
  compiled: CompiledProfile;
  /** Address of the API without the version, such as `https://api.example.org`. */
  baseUrl: string;
  http: HttpClient;
  /** The share of the OAuth client, over all users and tenants; null for none. */
  budget: Budget | null;
  authorization: ClinicAuthorization;
  /** What each list showed of how it pages, for as long as the process lives. */
  pagings: Map<ResourceName, PagingMemory>;
  /** Told of each write before it is sent; what it throws holds the write back. */
  beforeWrite?(write: PreparedWrite): void;
  clock: Clock;
  log: Logger;
}
