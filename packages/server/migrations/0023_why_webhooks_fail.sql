ALTER TABLE "webhooks" ADD COLUMN "disabled_because" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failing_since" timestamp (3) with time zone;