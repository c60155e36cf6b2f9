-- Whatever was made before counts as it did, except what a restore had saved. Given as a default, which is dropped at once, it is not written into each row.
ALTER TABLE "backups" ADD COLUMN "log_id" text DEFAULT 'any';--> statement-breakpoint
ALTER TABLE "backups" ALTER COLUMN "log_id" DROP DEFAULT;--> statement-breakpoint
UPDATE "backups" SET "log_id" = NULL WHERE "trigger" = 'pre_restore';--> statement-breakpoint
ALTER TABLE "pitr_logs" ADD COLUMN "joined" jsonb DEFAULT '[]'::jsonb NOT NULL;
