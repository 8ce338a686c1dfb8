import { keyKinds } from '../../state/keys.ts';

const { ofTarget } = keyKinds({ isReadUnderFormerIds: false });

/**
 * Keys of feeds in Redis. `T` is the tenant's id, `H` the hash of a feed's token or of a reader's network. For terms and lifetimes, see
 * `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:feed:<target>`               | hash   | target's          | lane              | lane, readers of feeds |
 * | `cm:{T}:feed-access:<target>`        | hash   | until withdrawn   | operator, readers of feeds | operator, readers of feeds |
 * | `cm:{feed-H}:feed-token`             | string | until withdrawn   | operator          | readers of feeds      |
 * | `cm:{feed-H}:feed-minute:<minute>`   | string | two minutes       | readers of feeds  | readers of feeds      |
 */
export const feedKeys = {
  feed: ofTarget('feed'),
  feedAccess: ofTarget('feed-access'),
  feedToken: (hash: string) => `cm:{feed-${hash}}:feed-token`,
  feedMinute: (name: string, minute: number) => `cm:{feed-${name}}:feed-minute:${minute}`,
} as const;
