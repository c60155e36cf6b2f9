import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A wire between the service and something it needs: it can be slow, be cut, or lead nowhere for a while. */
export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targetPort: number;
  #delayMs = 0;
  #isDown = false;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((near) => this.#join(near));
  }

  static async to(targetPort: number): Promise<Link> {
    const link = new Link(targetPort);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Where new connections lead from now on. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Every connection ends at once; new ones are fine. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nobody gets through until it is mended. */
  breakDown(): void {
    this.#isDown = true;
    this.cut();
  }

  /** Everything takes this much longer, in each direction. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  mend(): void {
    this.#isDown = false;
    this.#delayMs = 0;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    if (this.#isDown) return void near.destroy();
    const far = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true });
    near.setNoDelay(true);
    this.#pass(near, far);
    this.#pass(far, near);
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('error', () => undefined);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    from.on('end', () => void this.#soon(() => to.end()));
    from.on('data', (bytes) => {
      from.pause();
      this.#soon(() => {
        if (to.destroyed) return;
        if (to.write(bytes)) from.resume();
        else to.once('drain', () => from.resume());
      });
    });
  }

  #soon(act: () => void): void {
    if (this.#delayMs === 0) act();
    else setTimeout(act, this.#delayMs);
  }
}
