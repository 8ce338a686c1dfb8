import type { Subscription, SubscriptionRequest, Subscriptions } from '../../src/connectors/connector.ts';
import type { MirrorError } from '../../src/model/errors.ts';
import type { Clock } from '../../src/model/time.ts';
import type { ModelTarget } from './model-target.ts';

/** A subscription that the vendor keeps. */
export interface VendorSubscription extends SubscriptionRequest {
  container: string;
  handle: string;
}

/** A vendor that tells of changes, in memory. */
export interface ModelVendor {
  readonly subscriptions: Subscriptions;
  /** Subscriptions that are open, by our id. */
  readonly open: Map<string, VendorSubscription>;
  /** What was asked for, in order: `open`, `extend` or `close` and the number of subscriptions open after it. */
  readonly calls: string[];
  /** Can prolong a subscription; else another has to be opened. */
  extends: boolean;
  /** Gives no more than this. */
  mostMs: number;
  fault: (call: 'open' | 'extend' | 'close', container: string | null) => MirrorError | null;
  /** Runs while a subscription is being opened, before the answer. */
  onOpen: (subscription: VendorSubscription) => Promise<void> | void;
}

export function createModelVendor(clock: Clock): ModelVendor {
  const open = new Map<string, VendorSubscription>();
  const said = ({ id, handle, expiresAt }: VendorSubscription): Subscription => ({ id, handle, expiresAt });
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
    subscriptions: {
      async open(container, request) {
        call('open', container);
        const subscription = {
          ...request,
          container,
          handle: `handle-${request.id}`,
          expiresAt: lasting(request.expiresAt),
        };
        open.set(subscription.id, subscription);
        vendor.calls.push(`open ${open.size}`);
        await vendor.onOpen(subscription);
        return said(subscription);
      },
      async extend({ id }, expiresAt) {
        call('extend', null);
        const subscription = open.get(id);
        if (!vendor.extends || subscription === undefined) return null;
        subscription.expiresAt = lasting(expiresAt);
        vendor.calls.push(`extend ${open.size}`);
        return said(subscription);
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
export function giveSubscriptions(model: ModelTarget, vendor: ModelVendor): ModelTarget {
  const open = model.open;
  model.open = (ownerTag) => ({ ...open(ownerTag), subscriptions: vendor.subscriptions });
  return model;
}
