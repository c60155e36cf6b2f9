import type { Bench } from './figure.ts';

/** One file per bench; loaded only when it is asked for. */
export const registry: Readonly<Record<string, () => Promise<Bench>>> = {
  backup: async () => (await import('./backup.ts')).backupBench,
  restore: async () => (await import('./restore.ts')).restoreBench,
  memory: async () => (await import('./memory.ts')).memoryBench,
  'one-document': async () => (await import('./one-document.ts')).oneDocumentBench,
  incremental: async () => (await import('./incremental.ts')).incrementalBench,
  webhooks: async () => (await import('./webhooks.ts')).webhooksBench,
  workers: async () => (await import('./workers.ts')).workersBench,
  responsive: async () => (await import('./responsive.ts')).responsiveBench,
  noisy: async () => (await import('./noisy.ts')).noisyBench,
  schedules: async () => (await import('./schedules.ts')).schedulesBench,
  lists: async () => (await import('./lists.ts')).listsBench,
  web: async () => (await import('./web.ts')).webBench,
  'pitr-capture': async () => (await import('./pitr/capture.ts')).captureBench,
  'pitr-recovery': async () => (await import('./pitr/recovery.ts')).recoveryBench,
  'pitr-quiet': async () => (await import('./pitr/quiet.ts')).quietBench,
  'pitr-hand-over': async () => (await import('./pitr/hand-over.ts')).handOverBench,
  'pitr-history': async () => (await import('./pitr/history.ts')).historyBench,
  'scale-documents': async () => (await import('./scale/documents.ts')).scaleDocumentsBench,
  'scale-manifest': async () => (await import('./scale/manifest.ts')).scaleManifestBench,
  'scale-captures': async () => (await import('./scale/captures.ts')).scaleCapturesBench,
  start: async () => (await import('./start.ts')).startBench,
  http: async () => (await import('./http/http.ts')).httpBench,
};
