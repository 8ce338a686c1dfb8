import type { ChannelRequest, NotificationChannel, NotificationChannels } from '../../src/connectors/connector.ts';
import type { MirrorError } from '../../src/model/errors.ts';
import type { Clock } from '../../src/model/time.ts';
import type { ModelTarget } from './model-target.ts';

/** A channel that the vendor keeps. */
export interface VendorChannel extends ChannelRequest {
  container: string;
  handle: string;
}

/** A vendor that tells of changes, in memory. */
export interface ModelVendor {
  readonly channels: NotificationChannels;
  /** Channels that are open, by our id. */
  readonly open: Map<string, VendorChannel>;
  /** What was asked for, in order: `open`, `extend` or `close` and the number of channels open after it. */
  readonly calls: string[];
  /** Can prolong a channel; else another has to be opened. */
  extends: boolean;
  /** Gives no more than this. */
  mostMs: number;
  fault: (call: 'open' | 'extend' | 'close', container: string | null) => MirrorError | null;
  /** Runs while a channel is being opened, before the answer. */
  onOpen: (channel: VendorChannel) => Promise<void> | void;
}

export function createModelVendor(clock: Clock): ModelVendor {
  const open = new Map<string, VendorChannel>();
  const said = ({ id, handle, expiresAt }: VendorChannel): NotificationChannel => ({ id, handle, expiresAt });
  const call = (name: 'open' | 'extend' | 'close', container: string | null) => {
    const fault = vendor.fault(name, container);
    if (fault === null) return;
    vendor.calls.push(`${name} failed`);
    throw fault;
  };
  const lasting = (expiresAt: number) => Math.min(expiresAt, clock() + vendor.mostMs);
  const vendor: ModelVendor = {
    open,
    calls: [],
    extends: false,
    mostMs: Number.POSITIVE_INFINITY,
    fault: () => null,
    onOpen: () => {},
    channels: {
      async open(container, request) {
        call('open', container);
        const channel = {
          ...request,
          container,
          handle: `handle-${request.id}`,
          expiresAt: lasting(request.expiresAt),
        };
        open.set(channel.id, channel);
        vendor.calls.push(`open ${open.size}`);
        await vendor.onOpen(channel);
        return said(channel);
      },
      async extend({ id }, expiresAt) {
        call('extend', null);
        const channel = open.get(id);
        if (!vendor.extends || channel === undefined) return null;
        channel.expiresAt = lasting(expiresAt);
        vendor.calls.push(`extend ${open.size}`);
        return said(channel);
      },
      async close({ id, handle }) {
        call('close', null);
        if (open.get(id)?.handle === handle) open.delete(id);
        vendor.calls.push(`close ${open.size}`);
      },
    },
  };
  return vendor;
}

/** The target tells of changes from now on, by this vendor. */
export function giveChannels(model: ModelTarget, vendor: ModelVendor): ModelTarget {
  const open = model.open;
  model.open = (mark) => ({ ...open(mark), channels: vendor.channels });
  return model;
}
