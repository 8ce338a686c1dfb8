import type { ChannelModule } from './channel.ts';

/** Every channel by its kind: the one place that knows them all. */
export const reminderChannels: ReadonlyMap<string, ChannelModule> = new Map();
